#pragma once

#include <chrono>
#include <cstdint>

#include "kvstream/engine.h"

namespace kvstream::core {

/// A breaker for one direction (reads or writes) of one tier. Errors in a row, or an operation that
/// does not come back, set the tier aside; probes bring it back. Pure.
class TierHealth {
 public:
  struct Options {
    uint32_t errors_max = 3;  ///< Errors in a row that open the breaker.
    std::chrono::nanoseconds probe_interval_min = std::chrono::milliseconds(250);
    /// Bounds how late a repaired tier is found (faults.md, F1: 5 s).
    std::chrono::nanoseconds probe_interval_max = std::chrono::seconds(4);
  };

  explicit TierHealth(const Options& options) : options_(options) {}

  bool up() const { return up_; }
  uint64_t times_opened() const { return times_opened_; }

  void OnSuccess() { errors_in_a_row_ = 0; }
  /// True if this error set the tier aside.
  bool OnError(TimePoint now);
  /// The tier does not answer. True if it was up.
  bool OnHang(TimePoint now);

  bool ProbeDue(TimePoint now) const { return !up_ && !probing_ && now >= probe_at_; }
  TimePoint probe_at() const { return up_ || probing_ ? kNoDeadline : probe_at_; }
  void OnProbeSent() { probing_ = true; }
  /// True if the tier is back.
  bool OnProbeDone(bool answered, TimePoint now);

 private:
  bool Open(TimePoint now);

  Options options_;
  bool up_ = true;
  bool probing_ = false;
  uint32_t errors_in_a_row_ = 0;
  uint64_t times_opened_ = 0;
  std::chrono::nanoseconds probe_interval_{0};
  TimePoint probe_at_{};
};

}  // namespace kvstream::core
