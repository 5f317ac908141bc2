#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "kvstream/engine.h"

#include "base/prng.h"

namespace kvstream::sim {

/// Bytes per second.
struct Bandwidth {
  double read = 0;
  double write = 0;
};

/// Always the base.
struct ConstantShape {};

/// Given points, ascending in time: from `at_s` on the tier has `bandwidth`; before the first point
/// it has that of the first.
struct PointsShape {
  struct Point {
    double at_s = 0;
    Bandwidth bandwidth;
  };
  std::vector<Point> points;
};

/// The base for `duty` of each period, then `low_factor` of it.
struct SquareWaveShape {
  double period_s = 0;
  double duty = 0.5;
  double low_factor = 0.5;
};

/// Other jobs come and go: for exponentially distributed times the tier has `factor` of its base.
/// Begins without one.
struct BurstsShape {
  double on_mean_s = 0;
  double off_mean_s = 0;
  double factor = 0.5;
};

/// Another job takes a constant part of the bandwidth, from `from_s` to `until_s`.
struct OffsetShape {
  Bandwidth taken;
  double from_s = 0;
  double until_s = 1e15;
};

/// Every `step_s` the base is multiplied by exp(x - sigma²/2), mean 1, where x is a stationary
/// autoregressive process: x' = correlation · x + sqrt(1 - correlation²) · sigma · normal.
struct LognormalShape {
  double step_s = 1;
  double sigma = 0.1;
  double correlation = 0;
};

/// Read and write bandwidth of a tier over time, constant piece by piece. A description; a
/// SeriesCursor walks along it.
struct BandwidthSeries {
  using Shape = std::variant<ConstantShape, PointsShape, SquareWaveShape, BurstsShape, OffsetShape,
                             LognormalShape>;

  Bandwidth base;  ///< Unused by PointsShape.
  Shape shape = ConstantShape{};
};

/// kInvalidArgument, naming the field: bandwidths must be finite, the base above 0, factors, duty
/// and correlation from 0 to 1 (correlation below 1), times at least 1 ms, points ascending with a
/// last one above 0 in both directions, an offset below the base.
Status Validate(const BandwidthSeries& series);

/// Where a series stands at one time; goes forward only. The random shapes depend on the seed and
/// nothing else. The series must be valid and outlive it.
class SeriesCursor {
 public:
  SeriesCursor(const BandwidthSeries& series, uint64_t seed);

  const Bandwidth& value() const { return value_; }
  /// When the value changes next; kNoDeadline for never.
  TimePoint next_change() const { return next_change_; }
  /// Goes on to the change at next_change(), which must not be kNoDeadline.
  void Advance();

 private:
  void Scale(double factor);
  void EnterPoint();
  void EnterLognormal();
  void ChangeIn(double seconds);

  const BandwidthSeries& series_;
  base::Prng prng_;
  Bandwidth value_;
  TimePoint at_{};
  TimePoint next_change_ = kNoDeadline;
  uint64_t index_ = 0;  // changes so far
  double log_ = 0;      // LognormalShape: x
};

}  // namespace kvstream::sim
