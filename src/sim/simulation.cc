#include "sim/simulation.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "sim/serving_node.h"
#include "sim/summary.h"

namespace kvstream::sim {
namespace {

Error Broken(std::string what) {
  return Error(ErrorCode::kCorruption, fmt::format("conservation: {}", std::move(what)));
}

void AddActivity(const TierActivity& node, TierActivity* all) {
  all->read_bytes += node.read_bytes;
  all->read_chunks += node.read_chunks;
  all->read_busy_s += node.read_busy_s;
  all->written_bytes += node.written_bytes;
  all->write_busy_s += node.write_busy_s;
}

void AddTotals(const StorageTotals& node, StorageTotals* all) {
  for (size_t tier = 0; tier < node.tiers.size(); ++tier) {
    AddActivity(node.tiers[tier].activity, &all->tiers[tier].activity);
    all->tiers[tier].staged_bytes += node.tiers[tier].staged_bytes;
    all->tiers[tier].dropped_bytes += node.tiers[tier].dropped_bytes;
    all->tiers[tier].evicted_bytes += node.tiers[tier].evicted_bytes;
  }
  all->steps += node.steps;
  all->demand_bytes += node.demand_bytes;
  all->staged_hit_bytes += node.staged_hit_bytes;
  all->read_twice_bytes += node.read_twice_bytes;
  all->claims += node.claims;
  all->claims_done += node.claims_done;
  all->new_bytes += node.new_bytes;
  all->staged_bytes_max = std::max(all->staged_bytes_max, node.staged_bytes_max);
  all->write_wait_s += node.write_wait_s;
}

/// A run under way: nodes, devices and the gate on one event queue.
class Simulation final : public RequestSink {
 public:
  explicit Simulation(const Scenario& scenario);

  Result<Results> Run();

  void OnRelease(uint32_t request) override;

 private:
  bool Done() const;
  void CollectTotals();
  Status CheckRequests() const;
  Status CheckStorage() const;

  const Scenario& scenario_;
  model::Roofline roofline_;
  Results results_;
  EventQueue queue_;
  std::optional<DeviceSet> devices_;
  TurnGate gate_;
  DecodedChunks decoded_;
  std::vector<std::unique_ptr<ServingNode>> nodes_;
};

Simulation::Simulation(const Scenario& scenario)
    : scenario_(scenario),
      roofline_(scenario.model, scenario.gpu, scenario.ranks, scenario.efficiency),
      gate_(*scenario.trace,
            scenario.turns == TurnRule::kFromPrompts ? TurnRuleOf(*scenario.trace) : scenario.turns,
            queue_, *this),
      decoded_(*scenario.trace) {
  results_.requests.resize(scenario.trace->requests.size());
  if (!scenario.tiers.empty()) {
    devices_.emplace(scenario.tiers, scenario.nodes, scenario.ranks, scenario.seed, queue_);
  }
  const ServingContext context{.scenario = scenario_,
                               .roofline = roofline_,
                               .queue = queue_,
                               .devices = devices_ ? &*devices_ : nullptr,
                               .gate = gate_,
                               .decoded = decoded_,
                               .results = results_};
  for (uint32_t node = 0; node < scenario.nodes; ++node) {
    nodes_.push_back(std::make_unique<ServingNode>(node, context));
  }
}

void Simulation::OnRelease(uint32_t request) {
  const WarmupOptions& warmup = scenario_.warmup;
  const bool timed = scenario_.trace->clock != trace::ArrivalClock::kNone;
  results_.requests[request].warmup =
      request < warmup.requests || (timed && queue_.now_s() < warmup.seconds);
  const uint32_t session = scenario_.trace->requests[request].session;
  nodes_[session % nodes_.size()]->Enqueue(request);
}

bool Simulation::Done() const {
  if (gate_.released() < results_.requests.size()) return false;
  for (const auto& node : nodes_) {
    if (!node->idle()) return false;
  }
  return true;
}

Result<Results> Simulation::Run() {
  gate_.Start();
  while (!Done()) {
    if (queue_.RunNext()) continue;
    return Broken(fmt::format("the run stopped with {} of {} requests released", gate_.released(),
                              results_.requests.size()));
  }
  KVS_TRY(CheckRequests());
  KVS_TRY(CheckStorage());
  CollectTotals();
  Summarize(scenario_, results_);
  results_.warnings = RangeWarnings(scenario_, results_.summary);
  results_.hash = HashOf(results_);
  return std::move(results_);
}

void Simulation::CollectTotals() {
  Summary& summary = results_.summary;
  summary.held_turns = gate_.held_turns();
  for (const auto& node : nodes_) {
    summary.time.decode_s += node->decode_s();
    if (node->storage() != nullptr) AddTotals(node->storage()->totals(), &summary.storage);
  }
}

Status Simulation::CheckRequests() const {
  uint64_t prompt_tokens = 0;
  TokenCounts counted;
  for (size_t index = 0; index < results_.requests.size(); ++index) {
    const RequestResult& result = results_.requests[index];
    if (result.refused) continue;
    const uint64_t prompt = scenario_.trace->requests[index].input_tokens;
    if (result.tokens.total() != prompt) {
      return Broken(fmt::format("request {} has {} tokens, of which {} hit or missed", index,
                                prompt, result.tokens.total()));
    }
    const bool ordered = result.arrival_s <= result.admitted_s &&
                         result.admitted_s <= result.first_token_s &&
                         result.first_token_s <= result.finished_s;
    if (!ordered) return Broken(fmt::format("request {} goes back in time", index));
    prompt_tokens += prompt;
    counted += result.tokens;
  }
  if (counted.total() == prompt_tokens) return {};
  return Broken(
      fmt::format("{} prompt tokens, of which {} hit or missed", prompt_tokens, counted.total()));
}

Status Simulation::CheckStorage() const {
  for (const auto& node : nodes_) {
    if (node->storage() == nullptr) continue;
    KVS_TRY(node->storage()->CheckConservation());
    const uint64_t chunk_bytes =
        scenario_.model.RankKvBytesPerToken(scenario_.ranks) * scenario_.trace->chunk_tokens;
    const uint64_t asked = node->demand_chunks() * chunk_bytes;
    const uint64_t counted = node->storage()->totals().demand_bytes;
    if (asked != counted) {
      return Broken(fmt::format("steps asked storage for {} bytes; it counted {}", asked, counted));
    }
  }
  return {};
}

}  // namespace

Result<Results> Run(const Scenario& scenario) {
  KVS_TRY(Validate(scenario));
  return Simulation(scenario).Run();
}

}  // namespace kvstream::sim
