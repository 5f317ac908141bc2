#pragma once

#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

#include "sim/event_queue.h"
#include "sim/scenario.h"
#include "trace/request_trace.h"

namespace kvstream::sim {

/// Takes the requests that the gate lets through.
class RequestSink {
 public:
  virtual ~RequestSink() = default;
  /// `request` is its index in the trace. Called from within Start, OnAnswered and events.
  virtual void OnRelease(uint32_t request) = 0;
};

/// Lets the requests of a trace arrive, by the trace's clock:
///   kTrace    at their time; a turn before the previous answer is finished is held until then
///   kSession  a session's first turn at its time, each further one `think_s` after the answer
///   kNone     all at once, in the trace's order; a held turn holds everything behind it
/// Requests are never reordered otherwise. Not thread-safe.
class TurnGate {
 public:
  /// The arguments outlive the gate; `rule` is not kFromPrompts.
  TurnGate(const trace::RequestTrace& trace, TurnRule rule, EventQueue& queue, RequestSink& sink);

  void Start();
  /// A released request is finished or refused.
  void OnAnswered(uint32_t request);

  uint64_t released() const { return released_; }
  uint64_t held_turns() const { return held_turns_; }

 private:
  using Due = std::pair<double, uint32_t>;  // time, request

  bool Ready(const trace::Request& request) const {
    return rule_ == TurnRule::kIndependent || request.turn <= answered_[request.session];
  }
  void Release(uint32_t request);
  void OnArrival();
  void ScheduleNext();
  void PumpInOrder();
  void PumpByClock();
  void PumpThinking();

  const trace::RequestTrace& trace_;
  TurnRule rule_;
  EventQueue& queue_;
  RequestSink& sink_;
  std::vector<uint32_t> answered_;  // turns a session
  std::vector<uint32_t> next_turn_;
  std::vector<bool> waits_;  // arrived before it was ready
  std::priority_queue<Due, std::vector<Due>, std::greater<>> thinking_;
  uint32_t cursor_ = 0;  // first request that has not arrived
  uint64_t released_ = 0;
  uint64_t held_turns_ = 0;
  Event arrival_;
};

/// For each request the one that follows in its session, by turn; the number of requests where none
/// does.
std::vector<uint32_t> NextTurns(const trace::RequestTrace& trace);

}  // namespace kvstream::sim
