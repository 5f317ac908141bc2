#include "sim/bandwidth_series.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace kvstream::sim {
namespace {

BandwidthSeries Series(BandwidthSeries::Shape shape) {
  return {.base = {.read = 100, .write = 50}, .shape = std::move(shape)};
}

/// (time, read bandwidth) of the first changes.
std::vector<std::pair<double, double>> Walk(const BandwidthSeries& series, size_t changes,
                                            uint64_t seed = 1) {
  SeriesCursor cursor(series, seed);
  std::vector<std::pair<double, double>> seen = {{0, cursor.value().read}};
  while (seen.size() <= changes && cursor.next_change() != kNoDeadline) {
    const double at =
        std::chrono::duration<double>(cursor.next_change().time_since_epoch()).count();
    cursor.Advance();
    seen.emplace_back(at, cursor.value().read);
  }
  return seen;
}

using Seen = std::vector<std::pair<double, double>>;

TEST(BandwidthSeriesTest, AConstantNeverChanges) {
  EXPECT_EQ(Walk(Series(ConstantShape{}), 5), (Seen{{0, 100}}));
}

TEST(BandwidthSeriesTest, PointsHoldUntilTheNextAndTheLastForEver) {
  EXPECT_EQ(Walk(Series(PointsShape{{{1, {10, 1}}, {2, {20, 2}}, {5, {30, 3}}}}), 9),
            (Seen{{0, 10}, {2, 20}, {5, 30}}));
}

TEST(BandwidthSeriesTest, ASquareWaveAlternates) {
  EXPECT_EQ(Walk(Series(SquareWaveShape{.period_s = 4, .duty = 0.25, .low_factor = 0.5}), 4),
            (Seen{{0, 100}, {1, 50}, {4, 100}, {5, 50}, {8, 100}}));
  EXPECT_EQ(Walk(Series(SquareWaveShape{.period_s = 4, .duty = 1}), 4), (Seen{{0, 100}}));
  EXPECT_EQ(Walk(Series(SquareWaveShape{.period_s = 4, .duty = 0, .low_factor = 0.2}), 4),
            (Seen{{0, 20}}));
}

TEST(BandwidthSeriesTest, AnOffsetIsTakenFromItsTimeOnAndGivenBack) {
  EXPECT_EQ(Walk(Series(OffsetShape{.taken = {30, 10}, .from_s = 2, .until_s = 6}), 4),
            (Seen{{0, 100}, {2, 70}, {6, 100}}));
}

TEST(BandwidthSeriesTest, BurstsTakeTheirShareOfTheTime) {
  const BurstsShape bursts{.on_mean_s = 1, .off_mean_s = 3, .factor = 0.5};
  const Seen seen = Walk(Series(bursts), 4000);
  double slow_s = 0;
  for (size_t i = 1; i + 1 < seen.size(); i += 2) {
    EXPECT_EQ(seen[i].second, 50);
    EXPECT_EQ(seen[i + 1].second, 100);
    slow_s += seen[i + 1].first - seen[i].first;
  }
  EXPECT_NEAR(slow_s / seen.back().first, 0.25, 0.02);
}

TEST(BandwidthSeriesTest, LognormalHasItsMeanSpreadAndCorrelation) {
  const LognormalShape shape{.step_s = 1, .sigma = 0.3, .correlation = 0.8};
  const Seen seen = Walk(Series(shape), 50'000);
  double sum = 0;
  double log_sum = 0;
  double square = 0;
  double product = 0;
  const auto count = static_cast<double>(seen.size());
  const auto log_of = [](double value) { return std::log(value / 100) + 0.3 * 0.3 / 2; };
  for (size_t i = 0; i < seen.size(); ++i) {
    const double log = log_of(seen[i].second);
    sum += seen[i].second;
    log_sum += log;
    square += log * log;
    if (i > 0) product += log * log_of(seen[i - 1].second);
  }
  EXPECT_NEAR(sum / count, 100, 2);
  EXPECT_NEAR(log_sum / count, 0, 0.02);
  EXPECT_NEAR(std::sqrt(square / count), 0.3, 0.01);
  EXPECT_NEAR(product / square, 0.8, 0.02);
}

TEST(BandwidthSeriesTest, TheSeedAndNothingElseDecides) {
  for (const BandwidthSeries& series :
       {Series(BurstsShape{.on_mean_s = 1, .off_mean_s = 1}), Series(LognormalShape{.sigma = 1})}) {
    EXPECT_EQ(Walk(series, 100, 3), Walk(series, 100, 3));
    EXPECT_NE(Walk(series, 100, 3), Walk(series, 100, 4));
  }
}

TEST(BandwidthSeriesTest, RefusesWhatMakesNoSense) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<BandwidthSeries> bad = {
      {.base = {0, 1}},
      {.base = {1, kNan}},
      {.base = {1, std::numeric_limits<double>::infinity()}},
      Series(PointsShape{}),
      Series(PointsShape{{{1, {1, 1}}, {1, {2, 2}}}}),
      Series(PointsShape{{{0, {1, 1}}, {1, {0, 0}}}}),
      Series(PointsShape{{{-1, {1, 1}}}}),
      Series(PointsShape{{{0, {-1, 1}}}}),
      Series(SquareWaveShape{.period_s = 0}),
      Series(SquareWaveShape{.period_s = 1, .duty = 1.5}),
      Series(SquareWaveShape{.period_s = 1, .duty = 0, .low_factor = 0}),
      Series(BurstsShape{.on_mean_s = 0, .off_mean_s = 1}),
      Series(OffsetShape{.taken = {100, 1}}),
      Series(OffsetShape{.taken = {1, 1}, .from_s = 3, .until_s = 3}),
      Series(LognormalShape{.step_s = kNan}),
      Series(LognormalShape{.step_s = 1e-9}),
      Series(LognormalShape{.correlation = 1}),
      Series(LognormalShape{.sigma = -1})};
  for (size_t i = 0; i < bad.size(); ++i) {
    const Status status = Validate(bad[i]);
    ASSERT_FALSE(status) << "case " << i;
    EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace kvstream::sim
