#pragma once

#include <cstdint>

#include "kvstream/engine.h"

#include "base/assert.h"

namespace kvstream::sim {

/// Adds up the time in which at least one operation is under way.
class BusyTime {
 public:
  void Begin(TimePoint now) {
    if (under_way_++ == 0) since_ = now;
  }
  void End(TimePoint now) {
    KVS_ASSERT(under_way_ > 0);
    if (--under_way_ == 0) ended_ += now - since_;
  }
  double seconds(TimePoint now) const {
    return std::chrono::duration<double>(under_way_ > 0 ? ended_ + (now - since_) : ended_).count();
  }
  uint32_t under_way() const { return under_way_; }

 private:
  std::chrono::nanoseconds ended_{0};
  TimePoint since_{};
  uint32_t under_way_ = 0;
};

}  // namespace kvstream::sim
