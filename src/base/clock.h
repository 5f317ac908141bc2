#pragma once

#include "kvstream/engine.h"

namespace kvstream::base {

/// Where time comes from. Modules that are pure take a TimePoint as an argument instead.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint Now() const = 0;
};

/// std::chrono::steady_clock. Stateless; any thread.
class SteadyClock final : public Clock {
 public:
  TimePoint Now() const override { return std::chrono::steady_clock::now(); }
};

}  // namespace kvstream::base
