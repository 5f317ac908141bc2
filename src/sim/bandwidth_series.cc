#include "sim/bandwidth_series.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/assert.h"
#include "base/distributions.h"
#include "sim/event_queue.h"

namespace kvstream::sim {
namespace {

constexpr double kSecondsMax = 1e15;

Error Bad(std::string_view field, std::string_view rule, double value) {
  return {ErrorCode::kInvalidArgument, fmt::format("'{}' must be {}, not {}", field, rule, value)};
}

Status CheckAbove0(std::string_view field, double value) {
  if (!(std::isfinite(value) && value > 0 && value <= kSecondsMax)) {
    return Bad(field, "a number above 0, at most 1e15", value);
  }
  return {};
}

/// A shorter one would be an event each few bytes, and a run would not end.
Status CheckTime(std::string_view field, double seconds) {
  if (!(seconds >= 1e-3 && seconds <= kSecondsMax)) {
    return Bad(field, "a time from 1 ms to 1e15 s", seconds);
  }
  return {};
}

Status CheckShare(std::string_view field, double value) {
  if (!(value >= 0 && value <= 1)) return Bad(field, "a number from 0 to 1", value);
  return {};
}

Status CheckBandwidth(std::string_view field, const Bandwidth& bandwidth) {
  KVS_TRY(CheckAbove0(fmt::format("{} read bandwidth", field), bandwidth.read));
  return CheckAbove0(fmt::format("{} write bandwidth", field), bandwidth.write);
}

struct ShapeCheck {
  const Bandwidth& base;

  Status operator()(const ConstantShape& /*shape*/) const { return {}; }
  Status operator()(const PointsShape& shape) const {
    if (shape.points.empty()) return Error(ErrorCode::kInvalidArgument, "a series has no points");
    double before = -1;
    for (const PointsShape::Point& point : shape.points) {
      if (!(point.at_s > before && point.at_s >= 0 && point.at_s <= kSecondsMax)) {
        return Bad("time of a point", "ascending, from 0 to 1e15", point.at_s);
      }
      before = point.at_s;
      for (const double value : {point.bandwidth.read, point.bandwidth.write}) {
        if (!(std::isfinite(value) && value >= 0)) {
          return Bad("bandwidth of a point", "a number from 0", value);
        }
      }
    }
    return CheckBandwidth("last", shape.points.back().bandwidth);
  }
  Status operator()(const SquareWaveShape& shape) const {
    KVS_TRY(CheckTime("period", shape.period_s));
    KVS_TRY(CheckShare("duty", shape.duty));
    KVS_TRY(CheckShare("low_factor", shape.low_factor));
    if (shape.duty == 0) return CheckAbove0("low_factor of a wave without duty", shape.low_factor);
    return {};
  }
  Status operator()(const BurstsShape& shape) const {
    KVS_TRY(CheckTime("on_mean", shape.on_mean_s));
    KVS_TRY(CheckTime("off_mean", shape.off_mean_s));
    return CheckShare("factor", shape.factor);
  }
  Status operator()(const OffsetShape& shape) const {
    if (!(shape.from_s >= 0 && shape.until_s > shape.from_s && shape.until_s <= kSecondsMax)) {
      return Bad("until", "later than 'from', which is at least 0", shape.until_s);
    }
    for (const auto& [taken, of] :
         {std::pair(shape.taken.read, base.read), std::pair(shape.taken.write, base.write)}) {
      if (!(taken >= 0 && taken < of)) return Bad("taken", "from 0 to below the base", taken);
    }
    return {};
  }
  Status operator()(const LognormalShape& shape) const {
    KVS_TRY(CheckTime("step", shape.step_s));
    if (!(shape.sigma >= 0 && shape.sigma <= 3)) return Bad("sigma", "from 0 to 3", shape.sigma);
    if (!(shape.correlation >= 0 && shape.correlation < 1)) {
      return Bad("correlation", "from 0 to below 1", shape.correlation);
    }
    return {};
  }
};

}  // namespace

Status Validate(const BandwidthSeries& series) {
  if (!std::holds_alternative<PointsShape>(series.shape)) {
    KVS_TRY(CheckBandwidth("base", series.base));
  }
  return std::visit(ShapeCheck{series.base}, series.shape);
}

SeriesCursor::SeriesCursor(const BandwidthSeries& series, uint64_t seed)
    : series_(series), prng_(seed), value_(series.base) {
  if (const auto* points = std::get_if<PointsShape>(&series.shape)) {
    KVS_ASSERT(!points->points.empty());
    EnterPoint();
  } else if (const auto* wave = std::get_if<SquareWaveShape>(&series.shape)) {
    Scale(wave->duty > 0 ? 1 : wave->low_factor);
    if (wave->duty > 0 && wave->duty < 1) ChangeIn(wave->duty * wave->period_s);
  } else if (const auto* bursts = std::get_if<BurstsShape>(&series.shape)) {
    ChangeIn(base::Exponential(prng_, bursts->off_mean_s));
  } else if (const auto* offset = std::get_if<OffsetShape>(&series.shape)) {
    ChangeIn(offset->from_s);
  } else if (const auto* lognormal = std::get_if<LognormalShape>(&series.shape)) {
    log_ = lognormal->sigma * base::Normal(prng_);
    EnterLognormal();
  }
}

void SeriesCursor::Advance() {
  KVS_ASSERT(next_change_ != kNoDeadline);
  at_ = next_change_;
  next_change_ = kNoDeadline;
  ++index_;
  const bool odd = index_ % 2 == 1;
  if (std::holds_alternative<PointsShape>(series_.shape)) {
    EnterPoint();
  } else if (const auto* wave = std::get_if<SquareWaveShape>(&series_.shape)) {
    Scale(odd ? wave->low_factor : 1);
    ChangeIn((odd ? 1 - wave->duty : wave->duty) * wave->period_s);
  } else if (const auto* bursts = std::get_if<BurstsShape>(&series_.shape)) {
    Scale(odd ? bursts->factor : 1);
    ChangeIn(base::Exponential(prng_, odd ? bursts->on_mean_s : bursts->off_mean_s));
  } else if (const auto* offset = std::get_if<OffsetShape>(&series_.shape)) {
    value_ = series_.base;
    if (!odd) return;
    value_ = {.read = series_.base.read - offset->taken.read,
              .write = series_.base.write - offset->taken.write};
    ChangeIn(offset->until_s - offset->from_s);
  } else if (const auto* lognormal = std::get_if<LognormalShape>(&series_.shape)) {
    const double rho = lognormal->correlation;
    log_ = rho * log_ + std::sqrt(1 - rho * rho) * lognormal->sigma * base::Normal(prng_);
    EnterLognormal();
  }
}

void SeriesCursor::Scale(double factor) {
  value_ = {.read = series_.base.read * factor, .write = series_.base.write * factor};
}

void SeriesCursor::EnterPoint() {
  const auto& points = std::get<PointsShape>(series_.shape).points;
  value_ = points[index_].bandwidth;
  if (index_ + 1 == points.size()) return;
  next_change_ = TimePoint(SecondsUp(points[index_ + 1].at_s));
}

void SeriesCursor::EnterLognormal() {
  const auto& shape = std::get<LognormalShape>(series_.shape);
  Scale(std::exp(log_ - shape.sigma * shape.sigma / 2));
  if (shape.sigma > 0) ChangeIn(shape.step_s);
}

void SeriesCursor::ChangeIn(double seconds) {
  // A change takes at least a nanosecond, or a degenerate series would stop time.
  next_change_ = at_ + std::max(SecondsUp(seconds), std::chrono::nanoseconds(1));
}

}  // namespace kvstream::sim
