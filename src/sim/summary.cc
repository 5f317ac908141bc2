#include "sim/summary.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "model/bound.h"
#include "sim/figure_hash.h"

namespace kvstream::sim {
namespace {

void AddRequest(const trace::Request& request, const RequestResult& result, TrafficCounts* counts) {
  ++counts->requests;
  counts->prompt += result.tokens;
  counts->output_tokens += request.output_tokens;
}

void SummarizeRequests(const Scenario& scenario, Results& results) {
  Summary& summary = results.summary;
  std::vector<double> ttft;
  std::vector<double> wait;
  std::vector<double> latency;
  double first_s = std::numeric_limits<double>::infinity();
  double last_s = 0;
  for (size_t index = 0; index < results.requests.size(); ++index) {
    const trace::Request& request = scenario.trace->requests[index];
    const RequestResult& result = results.requests[index];
    summary.lost_tokens += request.lost_tokens;
    if (result.refused) {
      ++summary.refused;
      continue;
    }
    AddRequest(request, result, result.warmup ? &summary.warmup : &summary.measured);
    if (result.warmup) continue;
    ttft.push_back(result.ttft_s());
    wait.push_back(result.wait_s());
    latency.push_back(result.latency_s());
    first_s = std::min(first_s, result.arrival_s);
    last_s = std::max(last_s, result.finished_s);
  }
  summary.ttft_s = Describe(std::move(ttft));
  summary.wait_s = Describe(std::move(wait));
  summary.latency_s = Describe(std::move(latency));
  if (last_s <= first_s) return;
  summary.duration_s = last_s - first_s;
  const auto rate = [&summary](uint64_t count) {
    return static_cast<double>(count) / summary.duration_s;
  };
  summary.requests_per_s = rate(summary.measured.requests);
  summary.input_tokens_per_s = rate(summary.measured.prompt.total());
  summary.output_tokens_per_s = rate(summary.measured.output_tokens);
}

struct Bounds {
  double retrieval_s = 0;
  double full_s = 0;
  double partial_s = 0;
};

void AddStep(const Scenario& scenario, const StepResult& step, Summary* summary, Bounds* bounds) {
  ++summary->steps;
  summary->time.retrieval_s += step.storage.retrieval_s;
  summary->time.forward_s += step.forward_s;
  summary->time.write_wait_s += step.storage.write_wait_s;
  summary->demand_bytes += step.storage.demand_bytes;
  if (step.storage.demand_bytes == 0 || scenario.tiers.empty()) return;
  bounds->retrieval_s += step.storage.retrieval_s;
  bounds->full_s += step.storage.bound_s;
  bounds->partial_s += step.storage.partial_bound_s;
  if (step.storage.bandwidths_assumed != 0) ++summary->assumed_steps;
}

void SummarizeSteps(const Scenario& scenario, Results& results) {
  Summary& summary = results.summary;
  const size_t tiers = scenario.tiers.size();
  Bounds bounds;
  std::vector<double> phi;
  for (const StepResult& step : results.steps) {
    if (step.warmup) continue;
    AddStep(scenario, step, &summary, &bounds);
    const bool has_phi = tiers > 1 && step.storage.demand_bytes > 0;
    if (!has_phi || step.storage.bandwidths_assumed != 0) continue;
    phi.push_back(model::Phi(std::span(step.storage.bandwidths).first(tiers), 0));
  }
  summary.phi = Describe(std::move(phi));
  summary.bound_s = bounds.full_s;
  if (bounds.full_s > 0) summary.gap = bounds.retrieval_s / bounds.full_s - 1;
  if (bounds.partial_s > 0) summary.partial_gap = bounds.retrieval_s / bounds.partial_s - 1;
}

void SummarizeTime(const Scenario& scenario, Summary& summary) {
  const TimeShares& time = summary.time;
  const std::array<std::pair<double, std::string_view>, 4> terms = {{
      {time.retrieval_s, "retrieval"},
      {time.forward_s, "forward"},
      {time.write_wait_s, "write wait"},
      {time.decode_s, "decode"},
  }};
  summary.dominant = std::max_element(terms.begin(), terms.end(), [](const auto& a, const auto& b) {
                       return a.first < b.first;
                     })->second;
  const double steps_s = time.total_s() - time.decode_s;
  if (steps_s > 0) summary.retrieval_share = time.retrieval_s / steps_s;
  if (summary.duration_s > 0) {
    summary.utilisation = std::min(1.0, time.total_s() / (summary.duration_s * scenario.nodes));
  }
}

void HashTokens(const TokenCounts& tokens, FigureHash* hash) {
  hash->Add(tokens.gpu);
  hash->Add(tokens.host);
  hash->Add(tokens.storage);
  hash->Add(tokens.missed);
}

void HashStep(const StepResult& step, FigureHash* hash) {
  hash->Add(step.step);
  hash->Add(uint64_t{step.node});
  hash->Add(step.begin_s);
  hash->Add(step.forward_s);
  hash->Add(step.host_bytes);
  hash->Add(step.computed_tokens);
  const StepStorage& storage = step.storage;
  hash->Add(storage.retrieval_s);
  hash->Add(storage.bound_s);
  hash->Add(storage.partial_bound_s);
  hash->Add(storage.write_wait_s);
  hash->Add(storage.demand_bytes);
  hash->Add(storage.staged_hit_bytes);
  hash->Add(storage.read_twice_bytes);
  hash->Add(storage.dropped_bytes);
  for (const TierActivity& tier : storage.tiers) {
    hash->Add(tier.read_bytes);
    hash->Add(tier.read_busy_s);
    hash->Add(tier.written_bytes);
    hash->Add(tier.write_busy_s);
  }
}

}  // namespace

void Summarize(const Scenario& scenario, Results& results) {
  SummarizeRequests(scenario, results);
  SummarizeSteps(scenario, results);
  SummarizeTime(scenario, results.summary);
  Summary& summary = results.summary;
  summary.write_amplification = summary.storage.write_amplification();
  for (const StorageTotals::Tier& tier : summary.storage.tiers) {
    summary.dropped_bytes += tier.dropped_bytes;
  }
}

uint64_t HashOf(const Results& results) {
  FigureHash hash;
  for (const RequestResult& request : results.requests) {
    hash.Add(uint64_t{request.node});
    hash.Add(request.arrival_s);
    hash.Add(request.admitted_s);
    hash.Add(request.first_token_s);
    hash.Add(request.finished_s);
    HashTokens(request.tokens, &hash);
  }
  for (const StepResult& step : results.steps) HashStep(step, &hash);
  return hash.value();
}

}  // namespace kvstream::sim
