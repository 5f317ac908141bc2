#include "sim/scenario.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cache/lru_index.h"

namespace kvstream::sim {
namespace {

Error Invalid(std::string message) {
  return Error(ErrorCode::kInvalidArgument, std::move(message));
}

bool PositiveFinite(double value) { return std::isfinite(value) && value > 0; }

Status CheckTrace(const trace::RequestTrace& trace) {
  if (trace.requests.empty()) return Invalid("the trace has no requests");
  // Decoded tokens get ids above those of the trace; all of them are slots of 32 bits.
  uint64_t ids = trace.chunk_count;
  double arrival_s = 0;
  for (const trace::Request& request : trace.requests) {
    ids += (uint64_t{request.tail_tokens} + request.output_tokens) / trace.chunk_tokens;
    if (trace.clock != trace::ArrivalClock::kTrace) continue;
    if (!std::isfinite(request.arrival_s) || request.arrival_s < arrival_s) {
      return Invalid(
          fmt::format("{}: arrivals are not in the order of the requests (session {}, "
                      "turn {}); generate arrivals for this order",
                      trace.source, request.session, request.turn));
    }
    arrival_s = request.arrival_s;
  }
  if (ids < std::numeric_limits<uint32_t>::max()) return {};
  return Invalid(fmt::format("{}: {} chunks; at most {}", trace.source, ids,
                             std::numeric_limits<uint32_t>::max() - 1));
}

Status CheckServing(const Scenario& scenario) {
  if (scenario.ranks == 0 || scenario.ranks > 64) {
    return Invalid(fmt::format("ranks must be from 1 to 64, not {}", scenario.ranks));
  }
  if (scenario.nodes == 0 || scenario.nodes > kNodesMax) {
    return Invalid(fmt::format("nodes must be from 1 to {}, not {}", kNodesMax, scenario.nodes));
  }
  if (scenario.batch.running_max == 0 || scenario.batch.prefill_tokens_max == 0) {
    return Invalid("batch limits must be above 0");
  }
  const model::Efficiency& efficiency = scenario.efficiency;
  const auto is_share = [](double value) { return value > 0 && value <= 1; };
  if (!is_share(efficiency.compute) || !is_share(efficiency.memory) ||
      !(efficiency.step_overhead_s >= 0 && efficiency.step_overhead_s < 10)) {
    return Invalid("efficiencies must be above 0 and at most 1, the step overhead below 10 s");
  }
  if (!PositiveFinite(scenario.model.parameters) || scenario.model.kv_heads == 0 ||
      scenario.model.RankKvBytesPerToken(scenario.ranks) == 0) {
    return Invalid("the model needs parameters and KV heads");
  }
  if (!PositiveFinite(scenario.gpu.flops_per_second) ||
      !PositiveFinite(scenario.gpu.memory_bytes_per_second)) {
    return Invalid("the GPU needs arithmetic and memory bandwidth");
  }
  return {};
}

Status CheckMemory(const Scenario& scenario) {
  constexpr uint64_t kBytesMax = uint64_t{1} << 60;
  const MemoryOptions& memory = scenario.memory;
  if (memory.gpu_bytes > kBytesMax || memory.host_bytes > kBytesMax) {
    return Invalid("GPU and host memory must be at most 1 EiB a rank each");
  }
  const uint64_t chunk_bytes =
      scenario.model.RankKvBytesPerToken(scenario.ranks) * scenario.trace->chunk_tokens;
  if (memory.gpu_bytes < chunk_bytes) {
    return Invalid(fmt::format("GPU memory for KV is {} bytes a rank; one chunk takes {}",
                               memory.gpu_bytes, chunk_bytes));
  }
  if (chunk_bytes <= cache::LruIndex::kEntryBytesMax) return {};
  return Invalid(fmt::format("a chunk of {} bytes is too large", chunk_bytes));
}

Status CheckTiers(const Scenario& scenario) {
  if (scenario.tiers.size() > kTiersMax) {
    return Invalid(fmt::format("at most {} tiers, not {}", kTiersMax, scenario.tiers.size()));
  }
  for (const TierModel& tier : scenario.tiers) KVS_TRY(Validate(tier));
  if (!(scenario.storage.link_bytes_per_second > 0)) {
    return Invalid("the link to the GPU needs a bandwidth above 0");
  }
  return {};
}

}  // namespace

TurnRule TurnRuleOf(const trace::RequestTrace& trace) {
  std::vector<uint64_t> answered_tokens(trace.session_count);
  uint64_t later_turns = 0;
  uint64_t continued = 0;
  for (const trace::Request& request : trace.requests) {
    uint64_t& before = answered_tokens[request.session];
    if (request.turn > 0) {
      ++later_turns;
      if (request.input_tokens >= before) ++continued;
    }
    before = uint64_t{request.input_tokens} + request.output_tokens;
  }
  return 2 * continued >= later_turns ? TurnRule::kAfterAnswer : TurnRule::kIndependent;
}

Status Validate(const Scenario& scenario) {
  if (scenario.trace == nullptr) return Invalid("the scenario has no trace");
  KVS_TRY(CheckServing(scenario));
  KVS_TRY(CheckTrace(*scenario.trace));
  KVS_TRY(CheckMemory(scenario));
  if (!(scenario.warmup.seconds >= 0)) return Invalid("warm-up must not be negative");
  return CheckTiers(scenario);
}

}  // namespace kvstream::sim
