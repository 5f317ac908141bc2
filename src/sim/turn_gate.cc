#include "sim/turn_gate.h"

#include "base/assert.h"

namespace kvstream::sim {

using trace::ArrivalClock;
using trace::Request;

std::vector<uint32_t> NextTurns(const trace::RequestTrace& trace) {
  const auto count = static_cast<uint32_t>(trace.requests.size());
  std::vector<uint32_t> next(count, count);
  std::vector<uint32_t> last_of_session(trace.session_count, count);
  for (uint32_t index = 0; index < count; ++index) {
    uint32_t& last = last_of_session[trace.requests[index].session];
    if (last < count) next[last] = index;
    last = index;
  }
  return next;
}

TurnGate::TurnGate(const trace::RequestTrace& trace, TurnRule rule, EventQueue& queue,
                   RequestSink& sink)
    : trace_(trace),
      rule_(rule),
      queue_(queue),
      sink_(sink),
      answered_(trace.session_count),
      next_turn_(NextTurns(trace)),
      waits_(trace.requests.size()),
      arrival_(EventKind::kArrival, kCalls<&TurnGate::OnArrival>, this) {
  KVS_ASSERT(rule != TurnRule::kFromPrompts);
}

void TurnGate::Start() {
  if (trace_.clock == ArrivalClock::kSession) {
    for (uint32_t index = 0; index < trace_.requests.size(); ++index) {
      const Request& request = trace_.requests[index];
      if (request.turn == 0) thinking_.emplace(request.arrival_s, index);
    }
  }
  ScheduleNext();
}

void TurnGate::OnAnswered(uint32_t request) {
  ++answered_[trace_.requests[request].session];
  const uint32_t next = next_turn_[request];
  if (trace_.clock == ArrivalClock::kNone) return ScheduleNext();
  if (next == trace_.requests.size()) return;
  if (trace_.clock == ArrivalClock::kSession) {
    thinking_.emplace(queue_.now_s() + trace_.requests[next].think_s, next);
    return ScheduleNext();
  }
  if (waits_[next]) Release(next);
}

void TurnGate::Release(uint32_t request) {
  ++released_;
  sink_.OnRelease(request);
}

void TurnGate::OnArrival() {
  switch (trace_.clock) {
    case ArrivalClock::kNone:
      PumpInOrder();
      break;
    case ArrivalClock::kTrace:
      PumpByClock();
      break;
    case ArrivalClock::kSession:
      PumpThinking();
      break;
  }
  ScheduleNext();
}

void TurnGate::ScheduleNext() {
  const auto at = [](double seconds) { return TimePoint{} + SecondsUp(seconds); };
  if (trace_.clock == ArrivalClock::kSession) {
    if (!thinking_.empty()) queue_.Schedule(arrival_, at(thinking_.top().first));
    return;
  }
  if (cursor_ == trace_.requests.size()) return;
  const Request& next = trace_.requests[cursor_];
  if (trace_.clock == ArrivalClock::kTrace) return queue_.Schedule(arrival_, at(next.arrival_s));
  if (Ready(next)) queue_.Schedule(arrival_, queue_.now());
}

void TurnGate::PumpInOrder() {
  while (cursor_ < trace_.requests.size() && Ready(trace_.requests[cursor_])) Release(cursor_++);
  if (cursor_ < trace_.requests.size()) ++held_turns_;
}

void TurnGate::PumpByClock() {
  for (; cursor_ < trace_.requests.size(); ++cursor_) {
    const Request& request = trace_.requests[cursor_];
    if (TimePoint{} + SecondsUp(request.arrival_s) > queue_.now()) break;
    if (Ready(request)) {
      Release(cursor_);
    } else {
      waits_[cursor_] = true;
      ++held_turns_;
    }
  }
}

void TurnGate::PumpThinking() {
  while (!thinking_.empty() && TimePoint{} + SecondsUp(thinking_.top().first) <= queue_.now()) {
    const uint32_t request = thinking_.top().second;
    thinking_.pop();
    Release(request);
  }
}

}  // namespace kvstream::sim
