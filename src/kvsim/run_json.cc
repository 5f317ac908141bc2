#include "kvsim/run_json.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "model/bound.h"

namespace kvstream::kvsim {
namespace {

using nlohmann::json;

constexpr size_t kSlices = 60;
constexpr int kQuantiles = 100;

json BandwidthJson(const sim::Bandwidth& bandwidth) {
  return {{"read", bandwidth.read}, {"write", bandwidth.write}};
}

json TierJson(const sim::TierModel& tier) {
  const bool limited = tier.capacity_bytes != sim::TierModel{}.capacity_bytes;
  return {{"name", tier.name},
          {"bandwidth", BandwidthJson(tier.series.base)},
          {"varies", !std::holds_alternative<sim::ConstantShape>(tier.series.shape)},
          {"capacity_bytes", limited ? json(tier.capacity_bytes) : json(nullptr)},
          {"interference", tier.interference},
          {"latency_median_s", tier.latency.median_s},
          {"shared", tier.shared}};
}

json DistributionJson(const sim::Distribution& values) {
  return {{"count", values.count}, {"mean", values.mean}, {"sd", values.sd},   {"p10", values.p10},
          {"p50", values.p50},     {"p90", values.p90},   {"p99", values.p99}, {"max", values.max}};
}

json TokensJson(const sim::TokenCounts& tokens) {
  return {{"gpu", tokens.gpu},
          {"host", tokens.host},
          {"storage", tokens.storage},
          {"missed", tokens.missed}};
}

json TierTotalsJson(const PolicyRun& run) {
  json tiers = json::array();
  for (size_t tier = 0; tier < run.tier_names.size(); ++tier) {
    const sim::StorageTotals::Tier& totals = run.results.summary.storage.tiers[tier];
    tiers.push_back({{"name", run.tier_names[tier]},
                     {"read_bytes", totals.activity.read_bytes},
                     {"read_chunks", totals.activity.read_chunks},
                     {"read_busy_s", totals.activity.read_busy_s},
                     {"written_bytes", totals.activity.written_bytes},
                     {"write_busy_s", totals.activity.write_busy_s},
                     {"dropped_bytes", totals.dropped_bytes},
                     {"evicted_bytes", totals.evicted_bytes}});
  }
  return tiers;
}

// Sums over one slice of time.
struct Slice {
  double retrieval_s = 0;
  double forward_s = 0;
  double write_wait_s = 0;
  std::array<double, kTiersMax> read_bytes{};
  std::array<double, kTiersMax> read_busy_s{};
};

json SlicesJson(const PolicyRun& run, double slice_s, const std::vector<Slice>& slices) {
  json result = {{"slice_s", slice_s},
                 {"retrieval_s", json::array()},
                 {"forward_s", json::array()},
                 {"write_wait_s", json::array()},
                 {"tier_bandwidth", json::array()}};
  for (const Slice& slice : slices) {
    result["retrieval_s"].push_back(slice.retrieval_s);
    result["forward_s"].push_back(slice.forward_s);
    result["write_wait_s"].push_back(slice.write_wait_s);
  }
  for (size_t tier = 0; tier < run.tier_names.size(); ++tier) {
    json bandwidth = json::array();
    for (const Slice& slice : slices) {
      const double busy_s = slice.read_busy_s[tier];
      bandwidth.push_back(busy_s > 0 ? json(slice.read_bytes[tier] / busy_s) : json(nullptr));
    }
    result["tier_bandwidth"].push_back(std::move(bandwidth));
  }
  return result;
}

json TimelineJson(const PolicyRun& run) {
  double last_s = 0;
  for (const sim::StepResult& step : run.results.steps) last_s = std::max(last_s, step.begin_s);
  const double slice_s = last_s > 0 ? last_s / kSlices : 1;
  std::vector<Slice> slices(kSlices);
  for (const sim::StepResult& step : run.results.steps) {
    const auto index = static_cast<size_t>(step.begin_s / slice_s);
    Slice& slice = slices[std::min(index, kSlices - 1)];
    slice.retrieval_s += step.storage.retrieval_s;
    slice.forward_s += step.forward_s;
    slice.write_wait_s += step.storage.write_wait_s;
    for (size_t tier = 0; tier < run.tier_names.size(); ++tier) {
      slice.read_bytes[tier] += static_cast<double>(step.storage.tiers[tier].read_bytes);
      slice.read_busy_s[tier] += step.storage.tiers[tier].read_busy_s;
    }
  }
  return SlicesJson(run, slice_s, slices);
}

json QuantilesJson(const std::vector<double>& values) {
  json quantiles = json::array();
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  for (int percent = 0; percent <= kQuantiles && !sorted.empty(); ++percent) {
    const auto index = static_cast<size_t>(percent) * (sorted.size() - 1) / kQuantiles;
    quantiles.push_back(sorted[index]);
  }
  return quantiles;
}

// Tier 0's share of the bandwidth in each measured step that showed all bandwidths (Eq. 4).
std::vector<double> PhiOfSteps(const PolicyRun& run) {
  std::vector<double> phi;
  for (const sim::StepResult& step : run.results.steps) {
    const bool known = step.storage.demand_bytes > 0 && step.storage.bandwidths_assumed == 0;
    if (step.warmup || !known || run.tier_names.size() < 2) continue;
    phi.push_back(model::Phi(std::span(step.storage.bandwidths).first(run.tier_names.size()), 0));
  }
  return phi;
}

}  // namespace

json TraceJson(const trace::RequestTrace& trace) {
  const trace::TraceSummary summary = trace::Summarize(trace);
  return {{"source", trace.source},
          {"format", trace.format},
          {"chunk_tokens", trace.chunk_tokens},
          {"requests", summary.requests},
          {"sessions", summary.sessions},
          {"input_tokens", summary.input_tokens},
          {"output_tokens", summary.output_tokens},
          {"chunk_accesses", summary.chunk_accesses},
          {"unique_chunks", summary.unique_chunks},
          {"lost_tokens", summary.lost_tokens},
          {"reuse", summary.reuse},
          {"closed_loop", trace.clock == trace::ArrivalClock::kNone},
          {"notes", trace.notes}};
}

json ModelJson(const Setup& setup) {
  const sim::Scenario& scenario = setup.scenario;
  return {{"name", scenario.model.name},
          {"parameters", scenario.model.parameters},
          {"kv_bytes_per_token", scenario.model.RankKvBytesPerToken(scenario.ranks)}};
}

json SetupJson(const Setup& setup) {
  const sim::Scenario& scenario = setup.scenario;
  json tiers = json::array();
  for (const sim::TierModel& tier : setup.tiers) tiers.push_back(TierJson(tier));
  return {{"gpu", scenario.gpu.name},
          {"ranks", scenario.ranks},
          {"nodes", scenario.nodes},
          {"gpu_cache_bytes", scenario.memory.gpu_bytes},
          {"gpu_link", scenario.storage.link_bytes_per_second},
          {"batch_requests", scenario.batch.running_max},
          {"batch_tokens", scenario.batch.prefill_tokens_max},
          {"stage_bytes", scenario.storage.write.stage_bytes},
          {"warmup_requests", scenario.warmup.requests},
          {"warmup_s", scenario.warmup.seconds},
          {"seed", scenario.seed},
          {"device", setup.device},
          {"tiers", std::move(tiers)}};
}

json SummaryJson(const PolicyRun& run) {
  const sim::Summary& summary = run.results.summary;
  return {{"policy", run.policy.label},
          {"hash", fmt::format("{:016x}", run.results.hash)},
          {"requests", summary.measured.requests},
          {"warmup_requests", summary.warmup.requests},
          {"refused", summary.refused},
          {"held_turns", summary.held_turns},
          {"duration_s", summary.duration_s},
          {"requests_per_s", summary.requests_per_s},
          {"input_tokens_per_s", summary.input_tokens_per_s},
          {"output_tokens_per_s", summary.output_tokens_per_s},
          {"ttft_s", DistributionJson(summary.ttft_s)},
          {"wait_s", DistributionJson(summary.wait_s)},
          {"latency_s", DistributionJson(summary.latency_s)},
          {"steps", summary.steps},
          {"retrieval_s", summary.time.retrieval_s},
          {"forward_s", summary.time.forward_s},
          {"write_wait_s", summary.time.write_wait_s},
          {"decode_s", summary.time.decode_s},
          {"dominant", summary.dominant},
          {"retrieval_share", summary.retrieval_share},
          {"utilisation", summary.utilisation},
          {"tokens", TokensJson(summary.measured.prompt)},
          {"output_tokens", summary.measured.output_tokens},
          {"demand_bytes", summary.demand_bytes},
          {"read_twice_bytes", summary.storage.read_twice_bytes},
          {"phi", DistributionJson(summary.phi)},
          {"bound_s", summary.bound_s},
          {"gap", summary.gap},
          {"partial_gap", summary.partial_gap},
          {"assumed_steps", summary.assumed_steps},
          {"new_bytes", summary.storage.new_bytes},
          {"write_amplification", summary.write_amplification},
          {"dropped_bytes", summary.dropped_bytes},
          {"staged_bytes_max", summary.storage.staged_bytes_max},
          {"tiers", TierTotalsJson(run)},
          {"warnings", run.results.warnings}};
}

json CurvesJson(const PolicyRun& run) {
  std::vector<double> ttft;
  for (const sim::RequestResult& request : run.results.requests) {
    if (!request.refused && !request.warmup) ttft.push_back(request.ttft_s());
  }
  return {{"ttft_s", QuantilesJson(ttft)},
          {"phi", QuantilesJson(PhiOfSteps(run))},
          {"timeline", TimelineJson(run)}};
}

json DemandCurveJson(const DemandCurve& curve) {
  json points = json::array();
  for (const DemandPoint& point : curve.points) {
    points.push_back({{"memory_bytes", point.memory_bytes},
                      {"demand_bytes", point.demand_bytes},
                      {"miss_ratio", point.miss_ratio},
                      {"error", point.error}});
  }
  return {{"accesses", curve.accesses},
          {"reuses", curve.reuses},
          {"unique_chunks", curve.unique_chunks},
          {"rate", curve.rate},
          {"points", std::move(points)}};
}

}  // namespace kvstream::kvsim
