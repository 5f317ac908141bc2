#include "trace/synth.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/prng.h"
#include "base/units.h"
#include "trace/trace_builder.h"

namespace kvstream::trace {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr uint64_t kRequestsMax = 10'000'000;

struct Workload {
  std::string_view kind;
  bool grows = true;  // a turn's prompt begins with the whole prompt before it
  uint64_t sessions = 0;
  uint64_t turns = 0;
  uint64_t system_tokens = 0;
  uint64_t context_tokens = 0;
  uint64_t turn_tokens = 0;
  uint64_t output_tokens = 0;
  nanoseconds gap{0};
  nanoseconds think{0};
  uint64_t seed = 1;
};

// Sizes in the manner of paper/datasets: agents as in "SWE-bench agentic", documents as in LooGLE.
constexpr std::array<Workload, 3> kWorkloads{{
    {.kind = "chat",
     .sessions = 64,
     .turns = 8,
     .system_tokens = 2048,
     .context_tokens = 128,
     .turn_tokens = 384,
     .output_tokens = 256,
     .gap = milliseconds(500),
     .think = seconds(20)},
    {.kind = "agent",
     .sessions = 8,
     .turns = 30,
     .system_tokens = 3000,
     .context_tokens = 3000,
     .turn_tokens = 900,
     .output_tokens = 95,
     .gap = seconds(1),
     .think = seconds(2)},
    {.kind = "docs",
     .grows = false,
     .sessions = 16,
     .turns = 12,
     .context_tokens = 20'000,
     .turn_tokens = 40,
     .output_tokens = 150,
     .gap = seconds(5),
     .think = seconds(10)},
}};

struct Parameter {
  std::string_view name;
  uint64_t Workload::*count = nullptr;
  nanoseconds Workload::*time = nullptr;  // set where `count` is not
  uint64_t min = 0;
  uint64_t max = kPromptTokensMax;
};

constexpr std::array<Parameter, 9> kParameters{{
    {.name = "sessions", .count = &Workload::sessions, .min = 1, .max = kRequestsMax},
    {.name = "turns", .count = &Workload::turns, .min = 1, .max = kRequestsMax},
    {.name = "system", .count = &Workload::system_tokens},
    {.name = "context", .count = &Workload::context_tokens},
    {.name = "turn", .count = &Workload::turn_tokens, .min = 1},
    {.name = "output", .count = &Workload::output_tokens},
    {.name = "gap", .time = &Workload::gap},
    {.name = "think", .time = &Workload::think},
    {.name = "seed", .count = &Workload::seed, .max = UINT64_MAX},
}};

Error Invalid(std::string_view source, std::string_view what) {
  return Error(ErrorCode::kInvalidArgument, fmt::format("{}: {}", source, what));
}

Result<Workload> FindWorkload(std::string_view source, std::string_view kind) {
  std::string known;
  for (const Workload& workload : kWorkloads) {
    if (workload.kind == kind) return workload;
    known += fmt::format(" {}{}", kBuiltinPrefix, workload.kind);
  }
  return Invalid(source, fmt::format("unknown kind '{}'; known:{}", kind, known));
}

Result<Parameter> FindParameter(std::string_view source, std::string_view name) {
  std::string known;
  for (const Parameter& parameter : kParameters) {
    if (parameter.name == name) return parameter;
    known += fmt::format(" {}", parameter.name);
  }
  return Invalid(source, fmt::format("unknown parameter '{}'; known:{}", name, known));
}

Status SetParameter(std::string_view source, std::string_view assignment, Workload& workload) {
  const size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) {
    return Invalid(source, fmt::format("'{}' is not of the form name=value", assignment));
  }
  KVS_TRY_ASSIGN(const Parameter parameter, FindParameter(source, assignment.substr(0, equals)));
  const std::string_view text = assignment.substr(equals + 1);
  if (parameter.time != nullptr) {
    Result<nanoseconds> time = base::ParseDuration(text);
    if (!time)
      return std::move(time).error().WithContext(fmt::format("{}: {}", source, parameter.name));
    workload.*parameter.time = *time;
    return {};
  }
  uint64_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, count);
  if (code != std::errc{} || stop != end || count < parameter.min || count > parameter.max) {
    return Invalid(source, fmt::format("'{}' is not an integer from {} to {}", assignment,
                                       parameter.min, parameter.max));
  }
  workload.*parameter.count = count;
  return {};
}

Status CheckSize(std::string_view source, const Workload& workload) {
  if (workload.sessions > kRequestsMax / workload.turns) {
    return Invalid(source, fmt::format("more than {} requests", kRequestsMax));
  }
  // Sizes vary up to half above their mean.
  const double turns = workload.grows ? static_cast<double>(workload.turns) : 1;
  const double longest = static_cast<double>(workload.system_tokens) +
                         1.5 * (static_cast<double>(workload.context_tokens) +
                                turns * static_cast<double>(workload.turn_tokens));
  if (longest <= kPromptTokensMax) return {};
  return Invalid(
      source, fmt::format("prompts may exceed {} tokens; lower turns or tokens", kPromptTokensMax));
}

Result<Workload> ParseWorkload(std::string_view source) {
  std::string_view rest = source.substr(kBuiltinPrefix.size());
  const auto take = [&rest] {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    return part;
  };
  KVS_TRY_ASSIGN(Workload workload, FindWorkload(source, take()));
  while (!rest.empty()) KVS_TRY(SetParameter(source, take(), workload));
  KVS_TRY(CheckSize(source, workload));
  return workload;
}

class Generator {
 public:
  Generator(std::string_view source, const Workload& workload, const TraceOptions& options)
      : workload_(workload), prng_(workload.seed), builder_(source, options) {}

  Result<RequestTrace> Run() {
    double start_s = 0;
    for (uint64_t i = 0; i < workload_.sessions && !builder_.full(); ++i) {
      AddSession(start_s);
      start_s += Exponential(workload_.gap);
    }
    return builder_.Finish(ArrivalClock::kTrace, /*has_sessions=*/true);
  }

 private:
  void AddSession(double start_s) {
    const uint32_t fixed_tokens =
        static_cast<uint32_t>(workload_.system_tokens) + Around(workload_.context_tokens);
    SourceRow row{.arrival_s = start_s,
                  .input_tokens = fixed_tokens,
                  .parent = system_holder_,
                  .shared_tokens = static_cast<uint32_t>(workload_.system_tokens)};
    const uint32_t first_request = builder_.request_count();
    builder_.BeginSession();
    for (uint64_t turn = 0; turn < workload_.turns; ++turn) {
      const uint32_t before_tokens = workload_.grows ? row.input_tokens : fixed_tokens;
      row.input_tokens = before_tokens + Around(workload_.turn_tokens);
      row.output_tokens = Around(workload_.output_tokens);
      const std::optional<uint32_t> added = builder_.AddRequest(row);
      if (!added) break;
      row.parent = *added;
      row.shared_tokens = workload_.grows ? row.input_tokens : fixed_tokens;
      row.think_s = static_cast<float>(Exponential(workload_.think));
      row.arrival_s += row.think_s;
    }
    if (builder_.EndSession() && system_holder_ == SourceRow::kNoParent) {
      system_holder_ = first_request;
    }
  }

  // Uniform within half of the mean; at least 1 unless the mean is 0.
  uint32_t Around(uint64_t mean) {
    const uint64_t half = mean / 2;
    return static_cast<uint32_t>(mean - half + prng_.Below(2 * half + 1));
  }

  double Exponential(nanoseconds mean) {
    return -std::log1p(-prng_.Uniform()) * std::chrono::duration<double>(mean).count();
  }

  const Workload workload_;
  base::Prng prng_;
  TraceBuilder builder_;
  uint32_t system_holder_ = SourceRow::kNoParent;  // a request that begins with the system prompt
};

}  // namespace

Result<RequestTrace> GenerateTrace(std::string_view source, const TraceOptions& options) {
  KVS_TRY_ASSIGN(const Workload workload, ParseWorkload(source));
  return Generator(source, workload, options).Run();
}

}  // namespace kvstream::trace
