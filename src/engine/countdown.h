#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "kvstream/engine.h"

namespace kvstream::engine {

/// Waits, up to a deadline, for tasks that were posted to lanes. Any thread.
class Countdown {
 public:
  explicit Countdown(size_t count) : left_(count) {}

  void Done() {
    const std::lock_guard lock(mutex_);
    --left_;
    changed_.notify_all();
  }

  /// Whether all were done before the deadline.
  bool WaitUntil(TimePoint deadline) {
    std::unique_lock lock(mutex_);
    const auto all_done = [&] { return left_ == 0; };
    if (deadline != kNoDeadline) return changed_.wait_until(lock, deadline, all_done);
    changed_.wait(lock, all_done);
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t left_;
};

}  // namespace kvstream::engine
