#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "kvstream/engine.h"

namespace kvstream::sim {

/// What an event is about. Events of the same instant run in this order.
enum class EventKind : uint8_t {
  kBandwidth,  ///< A device changes its speed: what follows sees the new one.
  kTransfer,   ///< Bytes have arrived, or a storage call is answered.
  kArrival,    ///< A request enters the queue.
  kStep,       ///< A forward pass ends: the next batch sees all arrivals up to now.
  kTimer,
};

class EventQueue;

/// A call that its owner can have made at one time at once. Intrusive: it lies in its owner, needs
/// no allocation, and leaves the queue when it is destroyed. Never moved or copied.
class Event {
 public:
  using Callback = void (*)(void* context);

  Event(EventKind kind, Callback callback, void* context)
      : callback_(callback), context_(context), kind_(kind) {}
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  bool scheduled() const { return queue_ != nullptr; }
  /// When it is due; only while scheduled.
  TimePoint at() const { return at_; }

 private:
  friend class EventQueue;

  Callback callback_;
  void* context_;
  EventQueue* queue_ = nullptr;
  TimePoint at_{};
  uint64_t sequence_ = 0;
  uint32_t place_ = 0;  // in the heap
  EventKind kind_;
};

/// An Event::Callback that calls a member function: `Event tick{kind, kCalls<&Owner::Tick>, this}`.
template <auto Method>
struct CallsMember;
template <typename Owner, void (Owner::*Method)()>
struct CallsMember<Method> {
  static void Call(void* context) { (static_cast<Owner*>(context)->*Method)(); }
};
template <auto Method>
inline constexpr Event::Callback kCalls = &CallsMember<Method>::Call;

/// Virtual time. It starts at TimePoint{} and only moves when the next event runs. Order: time,
/// then kind, then the order in which the events were scheduled; so a run depends on nothing else.
/// O(log n) an operation, n events scheduled. Outlives its events' owners or holds none of their
/// events. Not thread-safe.
class EventQueue {
 public:
  EventQueue() = default;
  ~EventQueue();
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  TimePoint now() const { return now_; }
  double now_s() const { return std::chrono::duration<double>(now_.time_since_epoch()).count(); }

  /// Schedules, or schedules anew. `at` before now counts as now.
  void Schedule(Event& event, TimePoint at);
  /// As Schedule, `seconds` from now; rounded up to a nanosecond, at most 100 years.
  void ScheduleIn(Event& event, double seconds);
  void Cancel(Event& event);

  /// Runs the next event. False if there is none.
  bool RunNext();
  /// Runs everything that is due up to and including `until`, which is now afterwards.
  void RunUntil(TimePoint until);

  bool empty() const { return heap_.empty(); }
  uint64_t events_run() const { return events_run_; }

 private:
  static bool Before(const Event& a, const Event& b);
  void Place(size_t index, Event* event);
  void SiftUp(size_t index);
  void SiftDown(size_t index);
  void Remove(Event& event);

  TimePoint now_{};
  uint64_t next_sequence_ = 0;
  uint64_t events_run_ = 0;
  std::vector<Event*> heap_;
};

/// Seconds as a duration, rounded up to a nanosecond; 0 for what is not positive, at most 100
/// years.
std::chrono::nanoseconds SecondsUp(double seconds);

}  // namespace kvstream::sim
