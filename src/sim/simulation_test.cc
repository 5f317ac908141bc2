#include "sim/simulation.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/serving_test_util.h"

namespace kvstream::sim {
namespace {

using trace::ArrivalClock;
using trace::SourceRow;

constexpr double kNanosecond = 1e-9;

model::Roofline RooflineOf(const Scenario& scenario) {
  return {scenario.model, scenario.gpu, scenario.ranks, scenario.efficiency};
}

double PrefillSeconds(const Scenario& scenario, std::vector<model::ForwardWork> work) {
  return RooflineOf(scenario).PrefillSeconds(work);
}

SourceRow Prompt(double arrival_s, uint32_t tokens, uint32_t output_tokens = 1) {
  return {.arrival_s = arrival_s, .input_tokens = tokens, .output_tokens = output_tokens};
}

SourceRow Continued(SourceRow row, uint32_t parent, uint32_t shared_tokens) {
  row.parent = parent;
  row.shared_tokens = shared_tokens;
  return row;
}

uint64_t ChunkBytes(const Scenario& scenario) {
  return scenario.model.RankKvBytesPerToken(scenario.ranks) * scenario.trace->chunk_tokens;
}

TEST(SimulationTest, AFirstPromptTakesItsForwardPass) {
  const auto trace = TraceOf({{Prompt(5, 1000)}}, ArrivalClock::kTrace);
  const Scenario scenario = Testbed1(trace, "32B");
  const Results results = MustRun(scenario);
  const RequestResult& request = results.requests[0];
  EXPECT_DOUBLE_EQ(request.arrival_s, 5);
  EXPECT_NEAR(request.ttft_s(), PrefillSeconds(scenario, {{1000, 0}}), 2 * kNanosecond);
  EXPECT_EQ(request.tokens.missed, 1000u);
  EXPECT_DOUBLE_EQ(request.finished_s, request.first_token_s) << "one token is the first and last";
}

// WEKA sessions and LMCache logs may have prompts of no tokens.
TEST(SimulationTest, AnEmptyPromptTakesTheForwardPassOfOneToken) {
  const auto trace = TraceOf({{Prompt(0, 0)}}, ArrivalClock::kTrace);
  const Scenario scenario = Testbed1(trace, "32B");
  const Results results = MustRun(scenario);
  EXPECT_NEAR(results.requests[0].ttft_s(), PrefillSeconds(scenario, {{1, 0}}), 2 * kNanosecond);
  EXPECT_EQ(results.requests[0].tokens.total(), 0u);
}

TEST(SimulationTest, ATurnFindsFullChunksOfTheLastOneOnTheGpu) {
  const auto trace =
      TraceOf({{Prompt(0, 1000), Continued(Prompt(9, 1500), 0, 1000)}}, ArrivalClock::kTrace);
  const Scenario scenario = Testbed1(trace, "32B");
  const Results results = MustRun(scenario);
  EXPECT_EQ(results.requests[1].tokens.gpu, 768u);
  EXPECT_EQ(results.requests[1].tokens.missed, 732u);
  EXPECT_NEAR(results.requests[1].ttft_s(), PrefillSeconds(scenario, {{732, 768}}),
              2 * kNanosecond);
}

TEST(SimulationTest, WhatLeftTheGpuIsCopiedFromHostMemory) {
  const auto trace =
      TraceOf({{Prompt(0, 1024), Continued(Prompt(20, 1100), 0, 1024)}, {Prompt(10, 1024)}},
              ArrivalClock::kTrace);
  Scenario scenario = Testbed1(trace, "32B");
  scenario.memory = {.gpu_bytes = 5 * ChunkBytes(scenario), .host_bytes = 8 * ChunkBytes(scenario)};
  const Results results = MustRun(scenario);
  const RequestResult& back = results.requests[2];
  EXPECT_EQ(back.tokens.host + back.tokens.gpu, 1024u);
  ASSERT_GT(back.tokens.host, 0u);
  const double copied = static_cast<double>(back.tokens.host / 256 * ChunkBytes(scenario));
  EXPECT_NEAR(
      back.ttft_s(),
      PrefillSeconds(scenario, {{76, 1024}}) + copied / scenario.storage.link_bytes_per_second,
      3 * kNanosecond);
}

TEST(SimulationTest, WhatLeftMemoryIsReadFromStorageOrComputedAgain) {
  const auto trace =
      TraceOf({{Prompt(0, 1024), Continued(Prompt(200, 1100), 0, 1024)}, {Prompt(100, 1024)}},
              ArrivalClock::kTrace);
  Scenario scenario = Testbed1(trace, "32B");
  scenario.memory = {.gpu_bytes = 5 * ChunkBytes(scenario), .host_bytes = 0};
  const Results without = MustRun(scenario);
  // One token of answer takes the room of the fifth chunk: one chunk of the first prompt is left.
  EXPECT_EQ(without.requests[2].tokens.storage, 0u);
  scenario.tiers = Testbed1Tiers();
  const Results with = MustRun(scenario);
  EXPECT_EQ(with.requests[2].tokens.missed, 76u);
  ASSERT_GT(with.requests[2].tokens.storage, 0u);
  EXPECT_EQ(with.summary.demand_bytes,
            with.requests[2].tokens.storage / 256 * ChunkBytes(scenario));
  EXPECT_LT(with.requests[2].ttft_s(), without.requests[2].ttft_s());
}

TEST(SimulationTest, DecodeStepsFollowThePrefill) {
  const auto trace = TraceOf({{Prompt(0, 1000, 51)}}, ArrivalClock::kTrace);
  const Scenario scenario = Testbed1(trace, "70B");
  const Results results = MustRun(scenario);
  const double decode_s =
      RooflineOf(scenario).DecodeSeconds({.requests = 1, .context_tokens = 1001, .steps = 50});
  EXPECT_NEAR(results.requests[0].finished_s - results.requests[0].first_token_s, decode_s,
              2 * kNanosecond);
  EXPECT_NEAR(results.summary.time.decode_s, decode_s, 2 * kNanosecond);
}

TEST(SimulationTest, AnArrivalWaitsForTheDecodeStepUnderWay) {
  const auto trace =
      TraceOf({{Prompt(0, 1000, 500)}, {Prompt(1, 1000, 500)}}, ArrivalClock::kTrace);
  const Scenario scenario = Testbed1(trace, "70B");
  const Results results = MustRun(scenario);
  const model::Roofline roofline = RooflineOf(scenario);
  const double wait_s = results.requests[1].wait_s();
  const double step_s = roofline.DecodeSeconds({.requests = 1, .context_tokens = 1500, .steps = 1});
  EXPECT_GT(wait_s, 0);
  EXPECT_LT(wait_s, step_s);
  // The first request has made whole steps when the second one is admitted.
  const double elapsed_s = results.requests[1].admitted_s - results.requests[0].first_token_s;
  uint32_t steps = 1;
  const auto after = [&roofline](uint32_t count) {
    return roofline.DecodeSeconds({.requests = 1, .context_tokens = 1001, .steps = count});
  };
  while (after(steps) < elapsed_s - 3 * kNanosecond) ++steps;
  EXPECT_NEAR(after(steps), elapsed_s, 3 * kNanosecond);
}

TEST(SimulationTest, RequestsAreAdmittedInTheOrderOfArrival) {
  const auto trace = Load("builtin:chat,sessions=40,seed=3");
  Scenario scenario = Testbed1(trace, "70B");
  scenario.batch.running_max = 4;
  const Results results = MustRun(scenario);
  std::vector<RequestResult> requests = results.requests;
  std::stable_sort(requests.begin(), requests.end(),
                   [](const auto& a, const auto& b) { return a.arrival_s < b.arrival_s; });
  for (size_t at = 1; at < requests.size(); ++at) {
    ASSERT_LE(requests[at - 1].admitted_s, requests[at].admitted_s) << "arrival " << at;
  }
}

TEST(SimulationTest, BatchesStayWithinTheirLimits) {
  const auto trace = Load("builtin:chat,sessions=60,gap=1ms,seed=4");
  Scenario scenario = Testbed1(trace, "14B");
  scenario.batch = {.running_max = 8, .prefill_tokens_max = 3000};
  const Results results = MustRun(scenario);
  bool batched = false;
  for (const StepResult& step : results.steps) {
    ASSERT_LE(step.requests, 8u);
    if (step.requests == 1) continue;
    ASSERT_LE(step.computed_tokens, 3000u);
    batched = true;
  }
  EXPECT_TRUE(batched);
  for (const RequestResult& request : results.requests) {
    const auto running = std::count_if(
        results.requests.begin(), results.requests.end(), [&request](const RequestResult& other) {
          return other.admitted_s <= request.admitted_s && request.admitted_s < other.finished_s;
        });
    ASSERT_LE(running, 8);
  }
}

TEST(SimulationTest, ATooLongRequestIsRefusedAndReported) {
  const auto trace = TraceOf({{Prompt(0, 4000), Prompt(0, 600)}}, ArrivalClock::kTrace);
  Scenario scenario = Testbed1(trace, "32B");
  scenario.memory.gpu_bytes = 4 * ChunkBytes(scenario);
  const Results results = MustRun(scenario);
  EXPECT_TRUE(results.requests[0].refused);
  EXPECT_FALSE(results.requests[1].refused);
  EXPECT_EQ(results.summary.refused, 1u);
  EXPECT_EQ(results.summary.measured.requests, 1u);
  const bool warned = std::any_of(
      results.warnings.begin(), results.warnings.end(),
      [](const std::string& warning) { return warning.find("refused") != std::string::npos; });
  EXPECT_TRUE(warned);
}

TEST(SimulationTest, DecodedKvServesTheTurnThatContainsTheAnswer) {
  const auto trace =
      TraceOf({{Prompt(0, 1000, 536), Continued(Prompt(90, 2000), 0, 1000)}}, ArrivalClock::kTrace);
  Scenario scenario = AllTiers(Testbed1(trace, "32B"), Testbed1Tiers());
  const Results without = MustRun(scenario);
  EXPECT_EQ(without.requests[1].tokens.gpu, 768u);
  scenario.store_decoded = true;
  const Results with = MustRun(scenario);
  EXPECT_EQ(with.requests[1].tokens.gpu, 1536u);
  EXPECT_EQ(with.summary.storage.new_bytes, without.summary.storage.new_bytes)
      << "the answer's chunks are written once, by whoever computes them first";
}

TEST(SimulationTest, WarmupIsLeftOutOfTheFigures) {
  const auto trace = Load("builtin:chat,sessions=30,seed=5");
  Scenario scenario = Testbed1(trace, "32B");
  scenario.warmup.requests = 40;
  const Results results = MustRun(scenario);
  EXPECT_EQ(results.summary.warmup.requests, 40u);
  EXPECT_EQ(results.summary.measured.requests, trace.requests.size() - 40);
  EXPECT_EQ(results.summary.ttft_s.count, trace.requests.size() - 40);
}

TEST(SimulationTest, SessionsAreDealtOutToTheNodes) {
  const auto trace = Load("builtin:chat,sessions=40,seed=6");
  Scenario scenario = AllTiers(Testbed1(trace, "32B"), Testbed1Tiers());
  scenario.tiers[1].shared = true;
  scenario.nodes = 4;
  const Results results = MustRun(scenario);
  for (size_t index = 0; index < results.requests.size(); ++index) {
    ASSERT_EQ(results.requests[index].node, trace.requests[index].session % 4);
  }
  EXPECT_EQ(results.summary.refused, 0u);
}

TEST(SimulationTest, TheSameScenarioHasTheSameHash) {
  const auto trace = Load("builtin:agent,sessions=12,seed=7");
  Scenario scenario = AllTiers(Testbed1(trace, "70B"), Testbed1Tiers());
  scenario.memory = {.gpu_bytes = 8'000'000'000, .host_bytes = 4'000'000'000};
  scenario.tiers[0].latency = {.median_s = 1e-4, .sigma = 0.5};
  const Results first = MustRun(scenario);
  EXPECT_GT(first.summary.demand_bytes, 0u);
  EXPECT_EQ(MustRun(scenario).hash, first.hash);
  scenario.seed = 2;
  EXPECT_NE(MustRun(scenario).hash, first.hash) << "latencies are drawn from the seed";
}

TEST(SimulationTest, TurnsOfSessionsWaitAndQuestionsAboutDocumentsDoNot) {
  EXPECT_EQ(TurnRuleOf(Load("builtin:agent,sessions=5")), TurnRule::kAfterAnswer);
  EXPECT_EQ(TurnRuleOf(Load("builtin:loogle,documents=10")), TurnRule::kIndependent);
}

TEST(SimulationTest, RefusesWhatItCannotRun) {
  const auto trace = Load("builtin:chat,sessions=2");
  const auto message = [](const Scenario& scenario) {
    const auto results = sim::Run(scenario);
    EXPECT_FALSE(results.has_value());
    EXPECT_EQ(results.error().code(), ErrorCode::kInvalidArgument);
    return results ? std::string() : results.error().message();
  };
  EXPECT_NE(message(Scenario{}).find("no trace"), std::string::npos);
  Scenario scenario = Testbed1(trace, "32B");
  scenario.nodes = 65;
  EXPECT_NE(message(scenario).find("nodes must be from 1 to 64, not 65"), std::string::npos);
  scenario = Testbed1(trace, "32B");
  scenario.memory.gpu_bytes = 1000;
  EXPECT_NE(message(scenario).find("one chunk takes"), std::string::npos);
  scenario = Testbed1(trace, "32B");
  scenario.efficiency.compute = 1.5;
  EXPECT_NE(message(scenario).find("efficiencies"), std::string::npos);
  trace::RequestTrace back = trace;
  back.clock = ArrivalClock::kTrace;
  back.requests.front().arrival_s = 1e6;
  EXPECT_NE(message(Testbed1(back, "32B")).find("arrivals are not in the order"),
            std::string::npos);
}

}  // namespace
}  // namespace kvstream::sim
