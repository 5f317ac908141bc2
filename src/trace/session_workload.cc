#include "trace/session_workload.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/distributions.h"
#include "base/prng.h"
#include "trace/trace_builder.h"

namespace kvstream::trace {
namespace {

constexpr uint64_t kRequestsMax = 10'000'000;

// Requests, sessions, mean prompt, distinct chunks, reuse and demand come out as in the paper's
// runs; workloads_test.cc has the figures. How many sessions are live is not published: for chutes
// it follows from the demand over host memory, for qwen-coder from a demand that memory does not
// change; for swebench it is our choice.
constexpr std::array<SessionWorkload, 3> kWorkloads{{
    {.kind = "swebench",
     .requests = 4000,
     .sessions = 130,
     .turns_spread = 0.2,
     .context_tokens_min = 3000,
     .context_tokens_max = 8000,
     .growth_tokens = 900,
     .output_tokens = 95,
     .live = 64,
     .jitter = 0.5,
     .rate_per_s = 1.25},
    {.kind = "qwen-coder",
     .requests = 6934,
     .sessions = 716,
     .turns_spread = 0.5,
     .head_tokens = 2700,
     .context_tokens_min = 800,
     .context_tokens_max = 2600,
     .growth_tokens = 560,
     .rewrite_tokens = 330,
     .output_tokens = 109,
     .live = 716,
     .jitter = 0.25,
     .rate_per_s = 1.5},
    {.kind = "chutes",
     .requests = 530,
     .sessions = 39,
     .turns_spread = 0.3,
     .context_tokens_min = 15'000,
     .context_tokens_max = 75'000,
     .growth_tokens = 2700,
     .prompt_tokens_max = 130'000,
     .output_tokens = 60,
     .live = 16,
     .jitter = 0.3,
     .rate_per_s = 0.23,
     .cv = 4},
}};

class SessionGenerator {
 public:
  SessionGenerator(const SessionWorkload& workload, std::string_view source,
                   const TraceOptions& options)
      : workload_(workload), prng_(workload.seed), builder_(source, options) {}

  Result<RequestTrace> Run() {
    const std::vector<std::vector<double>> arrivals = Schedule(DrawTurns());
    const std::vector<uint64_t> contexts = DrawContexts();
    for (size_t i = 0; i < arrivals.size() && !builder_.full(); ++i) {
      AddSession(contexts[i], arrivals[i]);
    }
    return builder_.Finish(ArrivalClock::kTrace, /*has_sessions=*/true);
  }

 private:
  /// Turns of every session; their sum is `requests`.
  std::vector<uint64_t> DrawTurns() {
    const double mean =
        static_cast<double>(workload_.requests) / static_cast<double>(workload_.sessions);
    const double spread = workload_.turns_spread;
    std::vector<uint64_t> turns;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < workload_.sessions; ++i) {
      const double drawn = mean * (1 - spread + 2 * spread * prng_.Uniform());
      turns.push_back(std::max<uint64_t>(1, static_cast<uint64_t>(std::lround(drawn))));
      sum += turns.back();
    }
    while (sum != workload_.requests) {
      uint64_t& some = turns[prng_.Below(turns.size())];
      if (sum > workload_.requests && some == 1) continue;
      some += sum < workload_.requests ? 1 : UINT64_MAX;  // -1
      sum += sum < workload_.requests ? 1 : UINT64_MAX;
    }
    return turns;
  }

  /// First contexts of all sessions: one out of each of as many equally likely ranges, so that
  /// their sum differs little from seed to seed.
  std::vector<uint64_t> DrawContexts() {
    const double min = static_cast<double>(workload_.context_tokens_min);
    const double width = static_cast<double>(workload_.context_tokens_max) - min;
    const double count = static_cast<double>(workload_.sessions);
    std::vector<uint64_t> contexts;
    for (double i = 0; i < count; ++i) {
      const double drawn = min + width * (i + prng_.Uniform()) / count;
      contexts.push_back(static_cast<uint64_t>(drawn));
    }
    base::Shuffle(prng_, contexts);
    return contexts;
  }

  /// When each turn of each session arrives.
  std::vector<std::vector<double>> Schedule(const std::vector<uint64_t>& turns) {
    using Due = std::pair<double, size_t>;  // place in the order of all requests, session
    std::priority_queue<Due, std::vector<Due>, std::greater<>> open;
    size_t next = std::min<size_t>(workload_.live, turns.size());
    for (size_t session = 0; session < next; ++session) {
      open.emplace(static_cast<double>(session), session);
    }
    std::vector<std::vector<double>> arrivals(turns.size());
    const double shape = 1 / (workload_.cv * workload_.cv);
    const double scale = 1 / (workload_.rate_per_s * shape);
    double arrival_s = 0;
    for (double place = 0; !open.empty(); ++place) {
      const size_t session = open.top().second;
      const double live = static_cast<double>(open.size());
      open.pop();
      arrivals[session].push_back(arrival_s);
      arrival_s += base::Gamma(prng_, shape, scale);
      const double jitter = workload_.jitter * (2 * prng_.Uniform() - 1);
      const bool ends = arrivals[session].size() == turns[session];
      if (!ends) {
        open.emplace(place + live * (1 + jitter), session);
      } else if (next < turns.size()) {
        open.emplace(place + live * (1 + jitter), next++);
      }
    }
    return arrivals;
  }

  void AddSession(uint64_t context_tokens, const std::vector<double>& arrivals) {
    const uint32_t first_request = builder_.request_count();
    builder_.BeginSession();
    SourceRow row{.input_tokens = Capped(workload_.head_tokens + context_tokens),
                  .parent = head_holder_,
                  .shared_tokens = static_cast<uint32_t>(workload_.head_tokens)};
    for (const double arrival_s : arrivals) {
      row.arrival_s = arrival_s;
      row.output_tokens = static_cast<uint32_t>(Around(workload_.output_tokens));
      const std::optional<uint32_t> added = builder_.AddRequest(row);
      if (!added) break;
      const uint64_t own_tokens = row.input_tokens - workload_.head_tokens;
      const uint64_t rewritten = std::min(own_tokens, Around(workload_.rewrite_tokens));
      row.parent = *added;
      row.shared_tokens = static_cast<uint32_t>(row.input_tokens - rewritten);
      row.input_tokens = Capped(row.input_tokens + Around(workload_.growth_tokens));
    }
    if (builder_.EndSession() && head_holder_ == SourceRow::kNoParent) {
      head_holder_ = first_request;
    }
  }

  uint32_t Capped(uint64_t tokens) const {
    return static_cast<uint32_t>(std::min(tokens, workload_.prompt_tokens_max));
  }

  // Uniform within half of the mean.
  uint64_t Around(uint64_t mean) {
    const uint64_t half = mean / 2;
    return mean - half + prng_.Below(2 * half + 1);
  }

  const SessionWorkload workload_;
  base::Prng prng_;
  TraceBuilder builder_;
  uint32_t head_holder_ = SourceRow::kNoParent;  // a request that begins with the shared head
};

}  // namespace

std::span<const SessionWorkload> SessionWorkloads() { return kWorkloads; }

Result<RequestTrace> GenerateSessions(BuiltinParameters& parameters, SessionWorkload workload,
                                      const TraceOptions& options) {
  parameters.AddCount("requests", &workload.requests, {1, kRequestsMax});
  parameters.AddCount("sessions", &workload.sessions, {1, kRequestsMax});
  parameters.AddCount("live", &workload.live, {1, kRequestsMax});
  parameters.AddNumber("rate", &workload.rate_per_s, 1e-6, 1e6);
  parameters.AddNumber("cv", &workload.cv, 0.1, 20);
  parameters.AddCount("seed", &workload.seed, {0, UINT64_MAX});
  KVS_TRY(parameters.Assign());
  if (workload.sessions > workload.requests) {
    return parameters.Invalid("more sessions than requests");
  }
  return SessionGenerator(workload, parameters.source(), options).Run();
}

}  // namespace kvstream::trace
