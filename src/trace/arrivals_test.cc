#include "trace/arrivals.h"

#include <algorithm>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/synth.h"

namespace kvstream::trace {
namespace {

using ::testing::HasSubstr;

RequestTrace Load(const std::string& source, const TraceOptions& options = {}) {
  Result<RequestTrace> trace = LoadTrace(source, options);
  EXPECT_TRUE(trace.has_value()) << trace.error().ToString();
  return trace ? *std::move(trace) : RequestTrace();
}

RequestTrace Arriving(RequestTrace trace, const ArrivalOptions& options) {
  const Status status = ApplyArrivals(trace, options);
  EXPECT_TRUE(status.has_value()) << status.error().ToString();
  return trace;
}

std::vector<double> Times(const RequestTrace& trace) {
  std::vector<double> times;
  for (const Request& request : trace.requests) times.push_back(request.arrival_s);
  return times;
}

void ExpectInOrder(const RequestTrace& trace) {
  const std::vector<double> times = Times(trace);
  EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
}

TEST(ArrivalsTest, ProcessesKeepRateAndVariation) {
  struct Case {
    ArrivalProcess process;
    double cv;
  };
  const RequestTrace trace = Load("builtin:swebench,requests=100000");
  for (const Case& given : {Case{ArrivalProcess::kPoisson, 1}, Case{ArrivalProcess::kGamma, 1},
                            Case{ArrivalProcess::kGamma, 4}, Case{ArrivalProcess::kGamma, 8},
                            Case{ArrivalProcess::kWeibull, 2}, Case{ArrivalProcess::kWeibull, 8}}) {
    const ArrivalOptions options{.process = given.process, .rate_per_s = 2.5, .cv = given.cv};
    const RequestTrace arriving = Arriving(trace, options);
    EXPECT_EQ(arriving.clock, ArrivalClock::kTrace);
    ExpectInOrder(arriving);
    EXPECT_NEAR(arriving.requests.back().arrival_s, 100'000 / 2.5, 1e-6);
    EXPECT_NEAR(ArrivalVariation(arriving), given.cv, 0.15 * given.cv)
        << "process " << static_cast<int>(given.process) << ", seed " << options.seed;
  }
}

TEST(ArrivalsTest, TheSeedDecides) {
  const RequestTrace trace = Load("builtin:chat");
  const auto times = [&](uint64_t seed) {
    return Times(Arriving(
        trace, {.process = ArrivalProcess::kGamma, .rate_per_s = 1, .cv = 3, .seed = seed}));
  };
  EXPECT_EQ(times(1), times(1));
  EXPECT_NE(times(1), times(2));
}

TEST(ArrivalsTest, RecordedTimesAreStretched) {
  const RequestTrace trace = Load("builtin:chat");
  EXPECT_EQ(Times(Arriving(trace, {})), Times(trace));
  const RequestTrace slow = Arriving(trace, {.stretch = 2});
  for (size_t i = 0; i < trace.requests.size(); ++i) {
    EXPECT_DOUBLE_EQ(slow.requests[i].arrival_s, 2 * trace.requests[i].arrival_s);
  }
}

TEST(ArrivalsTest, RecordedTimesAreDealtOutInServingOrder) {
  const RequestTrace recorded = Load("builtin:chat");
  const RequestTrace trace = Load("builtin:chat", {.order = Order::kSequential});
  EXPECT_FALSE(std::is_sorted(Times(trace).begin(), Times(trace).end()));
  EXPECT_EQ(Times(Arriving(trace, {})), Times(recorded));
}

/// Ten requests every three seconds, as in the conversation trace.
RequestTrace CoarseTrace() {
  std::string text;
  for (int i = 0; i < 5000; ++i) {
    text += "{\"timestamp\":" + std::to_string(i / 10 * 3000 + i / 10 % 3) +
            ",\"input_length\":512,\"output_length\":1,\"hash_ids\":[" + std::to_string(i) + "]}\n";
  }
  Result<RequestTrace> trace = ParseTrace("coarse", text, {});
  EXPECT_TRUE(trace.has_value()) << trace.error().ToString();
  return trace ? *std::move(trace) : RequestTrace();
}

TEST(ArrivalsTest, ACoarseClockIsRecognisedAndItsBurstsAreSpread) {
  const RequestTrace trace = CoarseTrace();
  EXPECT_NEAR(ArrivalQuantum(trace), 3, 0.01);
  EXPECT_NEAR(ArrivalVariation(trace), 3, 0.1) << "an artefact";
  const RequestTrace spread = Arriving(trace, {.spread_quantum_s = 3});
  ExpectInOrder(spread);
  EXPECT_EQ(ArrivalQuantum(spread), 0);
  EXPECT_NEAR(ArrivalVariation(spread), 0.92, 0.05) << "ten in every quantum are a bit regular";
  for (size_t i = 0; i < trace.requests.size(); ++i) {
    EXPECT_NEAR(spread.requests[i].arrival_s, trace.requests[i].arrival_s + 1.5, 1.6);
  }
}

TEST(ArrivalsTest, ThinkTimesKeepEachSessionBehindItsStart) {
  const RequestTrace trace = Load("builtin:chat,sessions=200,turns=3");
  const RequestTrace kept = Arriving(trace, {.process = ArrivalProcess::kThinkTime});
  EXPECT_EQ(kept.clock, ArrivalClock::kSession);
  EXPECT_EQ(Times(kept), Times(trace)) << "recorded starts";
  const RequestTrace rated =
      Arriving(trace, {.process = ArrivalProcess::kThinkTime, .rate_per_s = 4});
  double last_start = 0;
  double start_before = 0;
  for (const Request& request : rated.requests) {
    if (request.turn != 0) continue;
    EXPECT_GE(request.arrival_s, start_before);
    start_before = last_start = request.arrival_s;
  }
  EXPECT_NEAR(last_start, 200 / 4.0, 1e-9);
}

TEST(ArrivalsTest, AClosedLoopHasNoTimes) {
  const RequestTrace trace =
      Arriving(Load("builtin:chat"), {.process = ArrivalProcess::kClosedLoop});
  EXPECT_EQ(trace.clock, ArrivalClock::kNone);
  for (const double time : Times(trace)) EXPECT_EQ(time, 0);
  EXPECT_EQ(Arriving(trace, {}).clock, ArrivalClock::kNone) << "nothing is recorded";
}

void ExpectRefused(RequestTrace trace, const ArrivalOptions& options, const std::string& message) {
  const RequestTrace before = trace;
  const Status status = ApplyArrivals(trace, options);
  ASSERT_FALSE(status.has_value()) << message;
  EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(status.error().message(), HasSubstr(message));
  EXPECT_EQ(Times(trace), Times(before));
}

TEST(ArrivalsTest, WhatTheTraceDoesNotHaveIsRefused) {
  const RequestTrace chat = Load("builtin:chat");
  const RequestTrace closed = Load("builtin:cuad,documents=3");
  const RequestTrace sessions =
      Arriving(chat, {.process = ArrivalProcess::kThinkTime, .rate_per_s = 1});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  ExpectRefused(sessions, {}, "builtin:chat: its times count from the start of each session");
  ExpectRefused(closed, {.stretch = 2}, "no times to stretch");
  ExpectRefused(closed, {.spread_quantum_s = 1}, "no times to stretch or spread");
  ExpectRefused(closed, {.process = ArrivalProcess::kThinkTime, .rate_per_s = 1}, "no think times");
  ExpectRefused(sessions, {.process = ArrivalProcess::kThinkTime}, "when sessions start");
  ExpectRefused(chat, {.stretch = 0}, "stretched by more than 0");
  ExpectRefused(chat, {.stretch = nan}, "stretched by more than 0");
  ExpectRefused(chat, {.spread_quantum_s = -1}, "spread over 0");
  ExpectRefused(chat, {.process = ArrivalProcess::kPoisson}, "needs a rate above 0");
  ExpectRefused(chat, {.process = ArrivalProcess::kPoisson, .rate_per_s = nan}, "needs a rate");
  ExpectRefused(chat, {.process = ArrivalProcess::kGamma, .rate_per_s = 1, .cv = 0}, "variation");
  ExpectRefused(chat, {.process = ArrivalProcess::kWeibull, .rate_per_s = 1, .cv = 99},
                "variation");
}

}  // namespace
}  // namespace kvstream::trace
