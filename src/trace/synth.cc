#include "trace/synth.h"

#include <array>
#include <chrono>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/distributions.h"
#include "base/prng.h"
#include "trace/builtin_parameters.h"
#include "trace/document_workload.h"
#include "trace/session_workload.h"
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

Status CheckSize(const BuiltinParameters& parameters, const Workload& workload) {
  if (workload.sessions > kRequestsMax / workload.turns) {
    return parameters.Invalid(fmt::format("more than {} requests", kRequestsMax));
  }
  // Sizes vary up to half above their mean.
  const double turns = workload.grows ? static_cast<double>(workload.turns) : 1;
  const double longest = static_cast<double>(workload.system_tokens) +
                         1.5 * (static_cast<double>(workload.context_tokens) +
                                turns * static_cast<double>(workload.turn_tokens));
  if (longest <= kPromptTokensMax) return {};
  return parameters.Invalid(
      fmt::format("prompts may exceed {} tokens; lower turns or tokens", kPromptTokensMax));
}

Result<Workload> ReadWorkload(BuiltinParameters& parameters, Workload workload) {
  parameters.AddCount("sessions", &workload.sessions, {1, kRequestsMax});
  parameters.AddCount("turns", &workload.turns, {1, kRequestsMax});
  parameters.AddCount("system", &workload.system_tokens);
  parameters.AddCount("context", &workload.context_tokens);
  parameters.AddCount("turn", &workload.turn_tokens, {1, kPromptTokensMax});
  parameters.AddCount("output", &workload.output_tokens);
  parameters.AddTime("gap", &workload.gap);
  parameters.AddTime("think", &workload.think);
  parameters.AddCount("seed", &workload.seed, {0, UINT64_MAX});
  KVS_TRY(parameters.Assign());
  KVS_TRY(CheckSize(parameters, workload));
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
    return base::Exponential(prng_, std::chrono::duration<double>(mean).count());
  }

  const Workload workload_;
  base::Prng prng_;
  TraceBuilder builder_;
  uint32_t system_holder_ = SourceRow::kNoParent;  // a request that begins with the system prompt
};

}  // namespace

Result<RequestTrace> GenerateTrace(std::string_view source, const TraceOptions& options) {
  BuiltinParameters parameters(source);
  std::string known;
  for (const Workload& preset : kWorkloads) {
    known += fmt::format(" {}{}", kBuiltinPrefix, preset.kind);
    if (preset.kind != parameters.kind()) continue;
    KVS_TRY_ASSIGN(const Workload workload, ReadWorkload(parameters, preset));
    return Generator(source, workload, options).Run();
  }
  for (const DocumentWorkload& preset : DocumentWorkloads()) {
    known += fmt::format(" {}{}", kBuiltinPrefix, preset.kind);
    if (preset.kind == parameters.kind()) return GenerateDocuments(parameters, preset, options);
  }
  for (const SessionWorkload& preset : SessionWorkloads()) {
    known += fmt::format(" {}{}", kBuiltinPrefix, preset.kind);
    if (preset.kind == parameters.kind()) return GenerateSessions(parameters, preset, options);
  }
  return parameters.Invalid(fmt::format("unknown kind '{}'; known:{}", parameters.kind(), known));
}

}  // namespace kvstream::trace
