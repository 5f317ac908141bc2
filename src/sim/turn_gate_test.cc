#include "sim/turn_gate.h"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "sim/serving_test_util.h"

namespace kvstream::sim {
namespace {

using trace::ArrivalClock;
using trace::SourceRow;
using Released = std::vector<std::pair<double, uint32_t>>;  // seconds, request

class RecordingSink final : public RequestSink {
 public:
  explicit RecordingSink(EventQueue& queue) : queue_(queue) {}
  void OnRelease(uint32_t request) override { released_.emplace_back(queue_.now_s(), request); }
  const Released& released() const { return released_; }

 private:
  EventQueue& queue_;
  Released released_;
};

SourceRow Row(double arrival_s, float think_s = 0) {
  return {.arrival_s = arrival_s, .input_tokens = 300, .output_tokens = 1, .think_s = think_s};
}

void RunDue(EventQueue& queue) {
  while (queue.RunNext()) {
  }
}

void RunTo(EventQueue& queue, double seconds) { queue.RunUntil(TimePoint{} + SecondsUp(seconds)); }

TEST(TurnGateTest, RequestsArriveAtTheirTime) {
  const auto trace = TraceOf({{Row(1)}, {Row(1)}, {Row(2.5)}}, ArrivalClock::kTrace);
  EventQueue queue;
  RecordingSink sink(queue);
  TurnGate gate(trace, TurnRule::kAfterAnswer, queue, sink);
  gate.Start();
  RunDue(queue);
  EXPECT_EQ(sink.released(), (Released{{1, 0}, {1, 1}, {2.5, 2}}));
  EXPECT_EQ(gate.held_turns(), 0u);
}

TEST(TurnGateTest, ATurnIsHeldUntilThePreviousAnswer) {
  const auto trace = TraceOf({{Row(1), Row(2)}, {Row(3)}}, ArrivalClock::kTrace);
  EventQueue queue;
  RecordingSink sink(queue);
  TurnGate gate(trace, TurnRule::kAfterAnswer, queue, sink);
  gate.Start();
  RunTo(queue, 5);
  EXPECT_EQ(sink.released(), (Released{{1, 0}, {3, 2}})) << "others pass it";
  gate.OnAnswered(0);
  EXPECT_EQ(sink.released().back(), (std::pair<double, uint32_t>{5, 1}));
  EXPECT_EQ(gate.held_turns(), 1u);
}

TEST(TurnGateTest, AnAnswerBeforeTheTurnHoldsNothing) {
  const auto trace = TraceOf({{Row(1), Row(2)}}, ArrivalClock::kTrace);
  EventQueue queue;
  RecordingSink sink(queue);
  TurnGate gate(trace, TurnRule::kAfterAnswer, queue, sink);
  gate.Start();
  RunTo(queue, 1.5);
  gate.OnAnswered(0);
  RunDue(queue);
  EXPECT_EQ(sink.released(), (Released{{1, 0}, {2, 1}}));
  EXPECT_EQ(gate.held_turns(), 0u);
}

TEST(TurnGateTest, IndependentTurnsDoNotWait) {
  const auto trace = TraceOf({{Row(1), Row(2)}}, ArrivalClock::kTrace);
  EventQueue queue;
  RecordingSink sink(queue);
  TurnGate gate(trace, TurnRule::kIndependent, queue, sink);
  gate.Start();
  RunDue(queue);
  EXPECT_EQ(sink.released(), (Released{{1, 0}, {2, 1}}));
}

TEST(TurnGateTest, TheClosedLoopKeepsTheOrderOfTheTrace) {
  const auto trace = TraceOf({{Row(0)}, {Row(0), Row(0)}, {Row(0)}}, ArrivalClock::kNone);
  EventQueue queue;
  RecordingSink sink(queue);
  TurnGate gate(trace, TurnRule::kAfterAnswer, queue, sink);
  gate.Start();
  RunDue(queue);
  EXPECT_EQ(sink.released(), (Released{{0, 0}, {0, 1}}))
      << "the held turn holds the session behind";
  gate.OnAnswered(0);
  RunDue(queue);
  EXPECT_EQ(sink.released().size(), 2u);
  gate.OnAnswered(1);
  RunDue(queue);
  EXPECT_EQ(sink.released(), (Released{{0, 0}, {0, 1}, {0, 2}, {0, 3}}));
}

TEST(TurnGateTest, ThinkingBeginsWithTheAnswer) {
  const auto trace = TraceOf({{Row(1), Row(2, 10)}, {Row(4)}}, ArrivalClock::kSession);
  EventQueue queue;
  RecordingSink sink(queue);
  TurnGate gate(trace, TurnRule::kAfterAnswer, queue, sink);
  gate.Start();
  RunTo(queue, 6);
  gate.OnAnswered(0);
  RunDue(queue);
  ASSERT_EQ(sink.released().size(), 3u);
  EXPECT_EQ(sink.released()[1], (std::pair<double, uint32_t>{4, 2}));
  EXPECT_EQ(sink.released()[2], (std::pair<double, uint32_t>{16, 1}));
}

}  // namespace
}  // namespace kvstream::sim
