#include "sim/event_queue.h"

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace kvstream::sim {
namespace {

using std::chrono::nanoseconds;

TimePoint At(int64_t ns) { return TimePoint(nanoseconds(ns)); }

struct Probe {
  Probe(EventKind kind, char mark, std::string* marks)
      : name(mark), log(marks), event(kind, kCalls<&Probe::Run>, this) {}
  void Run() { log->push_back(name); }

  char name;
  std::string* log;
  Event event;
};

TEST(EventQueueTest, RunsEqualTimesByKindAndThenInTheOrderOfScheduling) {
  EventQueue queue;
  std::string log;
  Probe timer(EventKind::kTimer, 't', &log);
  Probe step(EventKind::kStep, 's', &log);
  Probe first(EventKind::kTransfer, '1', &log);
  Probe second(EventKind::kTransfer, '2', &log);
  Probe arrival(EventKind::kArrival, 'a', &log);
  Probe bandwidth(EventKind::kBandwidth, 'b', &log);
  Probe early(EventKind::kTimer, 'e', &log);
  for (Probe* probe : {&timer, &step, &second, &first, &arrival, &bandwidth}) {
    queue.Schedule(probe->event, At(5));
  }
  queue.Schedule(early.event, At(4));
  queue.Schedule(second.event, At(5));  // anew: behind `first` now
  while (queue.RunNext()) {
  }
  EXPECT_EQ(log, "eb12ast");
  EXPECT_EQ(queue.now(), At(5));
  EXPECT_EQ(queue.events_run(), 7u);
}

TEST(EventQueueTest, TakesThePastAsNowAndRoundsSecondsUp) {
  EventQueue queue;
  std::string log;
  Probe probe(EventKind::kTimer, 'p', &log);
  queue.RunUntil(At(100));
  queue.Schedule(probe.event, At(7));
  EXPECT_EQ(probe.event.at(), At(100));
  queue.ScheduleIn(probe.event, 1.5e-9);
  EXPECT_EQ(probe.event.at(), At(102));
  queue.ScheduleIn(probe.event, -3);
  EXPECT_EQ(probe.event.at(), At(100));
  EXPECT_TRUE(log.empty());
}

TEST(EventQueueTest, AnEventLeavesTheQueueWhenItsOwnerGoes) {
  EventQueue queue;
  std::string log;
  auto probe = std::make_unique<Probe>(EventKind::kTimer, 'p', &log);
  Probe other(EventKind::kTimer, 'o', &log);
  queue.Schedule(probe->event, At(1));
  queue.Schedule(other.event, At(2));
  probe.reset();
  queue.RunUntil(At(10));
  EXPECT_EQ(log, "o");
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueueTest, AgreesWithASortedListUnderRandomSchedulingAndCancelling) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    base::Prng prng(seed);
    EventQueue queue;
    std::string log;
    std::vector<std::unique_ptr<Probe>> probes;
    std::vector<EventKind> kinds;
    for (char name = 'A'; name <= 'z'; ++name) {
      kinds.push_back(static_cast<EventKind>(prng.Below(5)));
      probes.push_back(std::make_unique<Probe>(kinds.back(), name, &log));
    }
    using Key = std::tuple<TimePoint, EventKind, uint64_t, char>;
    std::vector<Key> expected;
    for (uint64_t i = 0; i < 500; ++i) {
      const size_t which = prng.Below(probes.size());
      const char name = probes[which]->name;
      std::erase_if(expected, [&](const Key& key) { return std::get<3>(key) == name; });
      if (prng.Chance(0.3)) {
        queue.Cancel(probes[which]->event);
        continue;
      }
      const TimePoint at = At(static_cast<int64_t>(prng.Below(8)));
      queue.Schedule(probes[which]->event, at);
      expected.emplace_back(at, kinds[which], i, name);
    }
    std::ranges::sort(expected);
    std::string order;
    for (const Key& key : expected) order.push_back(std::get<3>(key));
    while (queue.RunNext()) {
    }
    EXPECT_EQ(log, order);
  }
}

}  // namespace
}  // namespace kvstream::sim
