#pragma once

#include "base/assert.h"
#include "base/clock.h"

namespace kvstream::test {

/// Time that moves only when told to. One thread.
class SimClock final : public base::Clock {
 public:
  TimePoint Now() const override { return now_; }
  void Advance(std::chrono::nanoseconds duration) {
    KVS_ASSERT(duration >= std::chrono::nanoseconds(0));
    now_ += duration;
  }
  /// Never backwards.
  void AdvanceTo(TimePoint time) {
    if (time > now_) now_ = time;
  }

 private:
  // Not zero, so that code may subtract from it.
  TimePoint now_ = TimePoint(std::chrono::hours(1));
};

}  // namespace kvstream::test
