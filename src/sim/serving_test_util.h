#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "sim/scenario.h"
#include "sim/simulation.h"
#include "trace/request_trace.h"
#include "trace/trace_builder.h"

namespace kvstream::sim {

/// One session after the other, each turn continuing the one before it.
inline trace::RequestTrace TraceOf(const std::vector<std::vector<trace::SourceRow>>& sessions,
                                   trace::ArrivalClock clock) {
  trace::TraceBuilder builder("test", trace::TraceOptions{});
  for (const auto& rows : sessions) {
    builder.BeginSession();
    for (const trace::SourceRow& row : rows) EXPECT_TRUE(builder.AddRequest(row).has_value());
    EXPECT_TRUE(builder.EndSession());
  }
  auto trace = builder.Finish(clock, /*has_sessions=*/true);
  EXPECT_TRUE(trace.has_value());
  return trace ? std::move(*trace) : trace::RequestTrace{};
}

inline trace::RequestTrace Load(std::string_view source, const trace::TraceOptions& options = {}) {
  auto trace = trace::LoadTrace(source, options);
  EXPECT_TRUE(trace.has_value()) << source;
  return trace ? std::move(*trace) : trace::RequestTrace{};
}

inline TierModel Tier(std::string_view name, const Bandwidth& bandwidth, double interference) {
  TierModel tier;
  tier.name = name;
  tier.series.base = bandwidth;
  tier.interference = interference;
  return tier;
}

/// Node bandwidths and links of the paper's machines (Table 2), GPU memory as in its Sec 6.1
/// (testbed 1) or as left by the weights (testbed 2).
inline Scenario Testbed1(const trace::RequestTrace& trace, std::string_view model) {
  Scenario scenario;
  scenario.trace = &trace;
  scenario.model = *model::FindModel(model);
  scenario.gpu = *model::FindGpu("H100-80GB");
  scenario.storage.link_bytes_per_second = 55e9 / 4;
  scenario.storage.write.stage_bytes = 4'000'000'000;
  scenario.storage.pieces_max = 500;
  return scenario;
}

inline std::vector<TierModel> Testbed1Tiers() {
  return {Tier("nvme", {.read = 13.7e9, .write = 4.6e9}, 0.06),
          Tier("pfs", {.read = 6.2e9, .write = 7.1e9}, 0)};
}

inline Scenario Testbed2(const trace::RequestTrace& trace) {
  Scenario scenario = Testbed1(trace, "32B");
  scenario.gpu = *model::FindGpu("A100-40GB");
  scenario.memory.gpu_bytes = model::KvMemoryBytes(scenario.gpu, scenario.model, scenario.ranks);
  scenario.storage.link_bytes_per_second = 25e9 / 4;
  return scenario;
}

inline std::vector<TierModel> Testbed2Tiers() {
  return {Tier("nvme", {.read = 11.6e9, .write = 5.1e9}, 0.27),
          Tier("pfs", {.read = 3.6e9, .write = 2.8e9}, 0)};
}

/// LMCache's pipeline on the first tier: request by request, writes at once.
inline Scenario SingleTier(Scenario scenario, const std::vector<TierModel>& tiers) {
  scenario.tiers = {tiers.front()};
  scenario.storage.routing.policy = Policy::kSingleTier;
  scenario.storage.serial = true;
  scenario.storage.write.timing = WriteTiming::kImmediate;
  return scenario;
}

inline Scenario AllTiers(Scenario scenario, const std::vector<TierModel>& tiers) {
  scenario.tiers = tiers;
  return scenario;
}

inline Results MustRun(const Scenario& scenario) {
  auto results = Run(scenario);
  EXPECT_TRUE(results.has_value()) << results.error().ToString();
  return results ? std::move(*results) : Results{};
}

}  // namespace kvstream::sim
