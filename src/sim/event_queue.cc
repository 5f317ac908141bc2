#include "sim/event_queue.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"

namespace kvstream::sim {
namespace {

// So that twice as much is still below the 292 years of 64-bit nanoseconds.
constexpr double kSecondsMax = 100.0 * 365 * 24 * 3600;

}  // namespace

std::chrono::nanoseconds SecondsUp(double seconds) {
  if (!(seconds > 0)) return std::chrono::nanoseconds(0);
  return std::chrono::nanoseconds(
      static_cast<int64_t>(std::ceil(std::min(seconds, kSecondsMax) * 1e9)));
}

Event::~Event() {
  if (queue_ != nullptr) queue_->Cancel(*this);
}

EventQueue::~EventQueue() {
  for (Event* event : heap_) event->queue_ = nullptr;
}

void EventQueue::Schedule(Event& event, TimePoint at) {
  KVS_ASSERT(event.queue_ == nullptr || event.queue_ == this);
  if (event.queue_ != nullptr) Remove(event);
  event.queue_ = this;
  event.at_ = std::max(at, now_);
  event.sequence_ = next_sequence_++;
  heap_.push_back(&event);
  SiftUp(heap_.size() - 1);
}

void EventQueue::ScheduleIn(Event& event, double seconds) {
  Schedule(event, now_ + SecondsUp(seconds));
}

void EventQueue::Cancel(Event& event) {
  if (event.queue_ == nullptr) return;
  KVS_ASSERT(event.queue_ == this);
  Remove(event);
}

bool EventQueue::RunNext() {
  if (heap_.empty()) return false;
  Event& event = *heap_.front();
  Remove(event);
  now_ = event.at_;
  ++events_run_;
  event.callback_(event.context_);
  return true;
}

void EventQueue::RunUntil(TimePoint until) {
  while (!heap_.empty() && heap_.front()->at_ <= until) RunNext();
  now_ = std::max(now_, until);
}

bool EventQueue::Before(const Event& a, const Event& b) {
  if (a.at_ != b.at_) return a.at_ < b.at_;
  return a.kind_ != b.kind_ ? a.kind_ < b.kind_ : a.sequence_ < b.sequence_;
}

void EventQueue::Place(size_t index, Event* event) {
  heap_[index] = event;
  event->place_ = static_cast<uint32_t>(index);
}

void EventQueue::SiftUp(size_t index) {
  Event* event = heap_[index];
  while (index > 0) {
    const size_t parent = (index - 1) / 2;
    if (!Before(*event, *heap_[parent])) break;
    Place(index, heap_[parent]);
    index = parent;
  }
  Place(index, event);
}

void EventQueue::SiftDown(size_t index) {
  Event* event = heap_[index];
  for (size_t child = 2 * index + 1; child < heap_.size(); child = 2 * index + 1) {
    if (child + 1 < heap_.size() && Before(*heap_[child + 1], *heap_[child])) ++child;
    if (!Before(*heap_[child], *event)) break;
    Place(index, heap_[child]);
    index = child;
  }
  Place(index, event);
}

void EventQueue::Remove(Event& event) {
  const size_t index = event.place_;
  KVS_ASSERT(index < heap_.size() && heap_[index] == &event);
  Event* last = heap_.back();
  heap_.pop_back();
  event.queue_ = nullptr;
  if (last == &event) return;
  Place(index, last);
  SiftDown(index);
  SiftUp(last->place_);
}

}  // namespace kvstream::sim
