#pragma once

#include <array>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>

#include "base/clock.h"
#include "core/core.h"
#include "io/block_pool.h"

namespace kvstream::engine {

/// The core under its one mutex. Every call passes the time in and, when the mutex is free again,
/// wakes the lanes that got work, gives freed blocks back and announces events. Any thread.
class CoreHandle {
 public:
  using WakeFunction = std::function<void()>;

  /// `clock` and `stage_pool` outlive the handle. `announce` is called, without the mutex, when
  /// events have come up; until TakeEvents it is not called again.
  CoreHandle(const core::CoreOptions& options, const base::Clock& clock, io::BlockPool& stage_pool,
             std::function<void()> announce);

  /// How to wake a lane; set before the lanes' threads start. Must be callable from any thread, at
  /// any time.
  void SetWakers(uint32_t tier, WakeFunction read, WakeFunction write);
  void SetMemoryWaker(WakeFunction memory);

  /// f(core, now) under the mutex; returns its result.
  template <typename F>
  auto Call(F&& f) {
    std::unique_lock lock(mutex_);
    const TimePoint now = clock_.Now();
    if constexpr (std::is_void_v<decltype(f(core_, now))>) {
      f(core_, now);
      AfterCall(lock);
    } else {
      auto result = f(core_, now);
      AfterCall(lock);
      return result;
    }
  }

  /// As Call for what changes nothing a lane or a waiter could see.
  template <typename F>
  auto Peek(F&& f) const {
    const std::lock_guard lock(mutex_);
    return f(core_, clock_.Now());
  }

  /// Blocks until done(core) or the deadline; the result of the last done(core). `done` runs under
  /// the mutex after every call that may have changed something.
  bool WaitFor(TimePoint deadline, const std::function<bool(core::Core&)>& done);

  std::vector<Event> TakeEvents();

  TimePoint Now() const { return clock_.Now(); }

 private:
  void AfterCall(std::unique_lock<std::mutex>& lock);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  core::Core core_;
  const base::Clock& clock_;
  io::BlockPool& stage_pool_;
  const std::function<void()> announce_;
  bool announced_ = false;
  std::array<WakeFunction, kTiersMax> wake_read_;
  std::array<WakeFunction, kTiersMax> wake_write_;
  WakeFunction wake_memory_;
};

}  // namespace kvstream::engine
