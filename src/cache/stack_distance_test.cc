#include "cache/stack_distance.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "cache/lru_index.h"

namespace kvstream::cache {
namespace {

using Distances = std::vector<std::optional<uint64_t>>;

Distances DistancesOf(const std::vector<uint32_t>& accesses) {
  StackDistances distances;
  Distances found;
  for (const uint32_t slot : accesses) found.push_back(distances.Touch(slot));
  return found;
}

/// By definition: moves each chunk to the front of a list.
Distances DistancesByList(const std::vector<uint32_t>& accesses) {
  std::vector<uint32_t> stack;
  Distances found;
  for (const uint32_t slot : accesses) {
    const auto at = std::find(stack.begin(), stack.end(), slot);
    if (at == stack.end()) {
      found.emplace_back();
    } else {
      found.emplace_back(at - stack.begin());
      stack.erase(at);
    }
    stack.insert(stack.begin(), slot);
  }
  return found;
}

uint64_t LruHits(const std::vector<uint32_t>& accesses, uint64_t capacity) {
  LruIndex index(capacity);
  uint64_t hits = 0;
  for (const uint32_t slot : accesses) {
    if (index.Touch(slot)) {
      ++hits;
      continue;
    }
    while (!index.Insert(slot, 1)) index.Erase(*index.Victim());
  }
  return hits;
}

ReuseHistogram HistogramOf(const std::vector<uint32_t>& accesses) {
  StackDistances distances;
  ReuseHistogram histogram;
  for (const uint32_t slot : accesses) histogram.Record(distances.Touch(slot));
  return histogram;
}

/// Prompts of several sessions: shared heads, sessions that grow, skewed choice of the next one.
std::vector<uint32_t> Prefixes(uint64_t seed, uint32_t sessions, uint32_t accesses_min) {
  base::Prng prng(seed);
  std::vector<std::vector<uint32_t>> prompts(sessions, {0, 1, 2});
  std::vector<uint32_t> accesses;
  uint32_t next = 3;
  while (accesses.size() < accesses_min) {
    const uint64_t chosen = std::min(prng.Below(sessions), prng.Below(sessions));
    std::vector<uint32_t>& prompt = prompts[chosen];
    if (prng.Chance(0.02)) prompt.resize(3);
    for (uint64_t added = prng.Below(6); added > 0; --added) prompt.push_back(next++);
    accesses.insert(accesses.end(), prompt.begin(), prompt.end());
  }
  return accesses;
}

TEST(StackDistancesTest, CountsTheOtherChunksSinceTheLastTouch) {
  const Distances expected{{}, {}, 0, 1, {}, 1, 2, 0};
  EXPECT_EQ(DistancesOf({7, 3, 3, 7, 5, 7, 3, 3}), expected);
}

TEST(StackDistancesTest, EqualsTheMoveToFrontListOnRandomStreams) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    base::Prng prng(seed);
    const uint64_t slots = 1 + prng.Below(400);
    std::vector<uint32_t> accesses(12'000);
    for (uint32_t& slot : accesses) {
      slot = static_cast<uint32_t>(std::min(prng.Below(slots), prng.Below(slots)));
    }
    ASSERT_EQ(DistancesOf(accesses), DistancesByList(accesses)) << "seed " << seed;
  }
}

TEST(StackDistancesTest, StaysExactWhileSlotsAppearAndTimesAreRenumbered) {
  const std::vector<uint32_t> accesses = Prefixes(5, 12, 60'000);
  ASSERT_EQ(DistancesOf(accesses), DistancesByList(accesses));
}

// A5 of the acceptance tests.
TEST(StackDistancesTest, LruHitsEqualTheReusesCloserThanEveryCapacity) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const std::vector<uint32_t> accesses = Prefixes(seed, 4, 6'000);
    const ReuseHistogram histogram = HistogramOf(accesses);
    ASSERT_EQ(histogram.accesses(), accesses.size());
    for (uint64_t capacity = 1; capacity <= histogram.first_touches() + 1; ++capacity) {
      ASSERT_EQ(LruHits(accesses, capacity), histogram.ReusesCloserThan(capacity))
          << "seed " << seed << " capacity " << capacity;
    }
    EXPECT_EQ(histogram.ReusesCloserThan(histogram.first_touches()), histogram.reuses());
  }
}

TEST(ReuseHistogramTest, RanksFollowTheSortedDistances) {
  ReuseHistogram histogram;
  for (const std::optional<uint64_t> distance : Distances{{}, 4, 0, 4, {}, 9}) {
    histogram.Record(distance);
  }
  EXPECT_EQ(histogram.accesses(), 6u);
  EXPECT_EQ(histogram.first_touches(), 2u);
  const uint64_t sorted[] = {0, 4, 4, 9};
  for (uint64_t rank = 0; rank < 4; ++rank) EXPECT_EQ(histogram.DistanceOfRank(rank), sorted[rank]);
  EXPECT_EQ(histogram.ReusesCloserThan(0), 0u);
  EXPECT_EQ(histogram.ReusesCloserThan(4), 1u);
  EXPECT_EQ(histogram.ReusesCloserThan(5), 3u);
  EXPECT_EQ(histogram.ReusesCloserThan(UINT64_MAX), 4u);
  EXPECT_EQ(histogram.counts().size(), 10u);
}

using ReuseHistogramDeathTest = testing::Test;

TEST(ReuseHistogramDeathTest, ARankWithoutReuseAborts) {
  EXPECT_DEATH(ReuseHistogram().DistanceOfRank(0), "rank < reuses_");
}

TEST(SampledStackDistancesTest, ASampleOfEverythingIsExact) {
  const std::vector<uint32_t> accesses = Prefixes(3, 6, 20'000);
  const ReuseHistogram exact = HistogramOf(accesses);
  SampledStackDistances sampled(1, 9);
  for (const uint32_t slot : accesses) sampled.Touch(slot);
  EXPECT_EQ(sampled.distinct(), static_cast<double>(exact.first_touches()));
  EXPECT_EQ(sampled.sampled_accesses(), accesses.size());
  for (const uint64_t capacity : {1u, 10u, 100u, 1'000u, 100'000u}) {
    const auto estimate = sampled.MissRatio(capacity);
    const auto misses = static_cast<double>(exact.accesses() - exact.ReusesCloserThan(capacity));
    EXPECT_DOUBLE_EQ(estimate.miss_ratio, misses / static_cast<double>(exact.accesses()));
    EXPECT_EQ(estimate.standard_error, 0);
  }
}

double MissRatio(const ReuseHistogram& exact, double capacity) {
  const auto whole = static_cast<uint64_t>(std::max(0.0, capacity));
  return 1 -
         static_cast<double>(exact.ReusesCloserThan(whole)) / static_cast<double>(exact.accesses());
}

// The promise of the header: within some standard errors of the exact curve, moved sideways by the
// blur of distances.
TEST(SampledStackDistancesTest, EstimatesLieWithinTheirStatedError) {
  constexpr double kRate = 0.1;
  const std::vector<uint32_t> accesses = Prefixes(11, 60, 600'000);
  const ReuseHistogram exact = HistogramOf(accesses);
  std::cout << exact.first_touches() << " chunks, seeds 1 to 20\n";
  double error_sum = 0;
  double count = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SampledStackDistances sampled(kRate, seed);
    for (const uint32_t slot : accesses) sampled.Touch(slot);
    for (double capacity = 1'000; capacity < 30'000; capacity *= 1.5) {
      const auto estimate = sampled.MissRatio(static_cast<uint64_t>(capacity));
      const double blur = 3 / std::sqrt(capacity * kRate);
      const double low = MissRatio(exact, capacity * (1 + blur)) - 4 * estimate.standard_error;
      const double high = MissRatio(exact, capacity * (1 - blur)) + 4 * estimate.standard_error;
      EXPECT_GE(estimate.miss_ratio, low) << "seed " << seed << " capacity " << capacity;
      EXPECT_LE(estimate.miss_ratio, high) << "seed " << seed << " capacity " << capacity;
      error_sum += std::abs(estimate.miss_ratio - MissRatio(exact, capacity));
      ++count;
    }
  }
  std::cout << "mean error of a miss ratio at rate " << kRate << ": " << error_sum / count << "\n";
  EXPECT_LT(error_sum / count, 0.02);
}

// Chunk 0 takes half of all accesses, so whether it is in the sample would decide a plain ratio.
TEST(SampledStackDistancesTest, AHotChunkDoesNotBiasTheMissRatio) {
  base::Prng prng(2);
  std::vector<uint32_t> accesses;
  for (int i = 0; i < 100'000; ++i) {
    accesses.push_back(0);
    accesses.push_back(1 + static_cast<uint32_t>(prng.Below(20'000)));
  }
  const double exact = MissRatio(HistogramOf(accesses), 10'000);
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SampledStackDistances sampled(0.05, seed);
    for (const uint32_t slot : accesses) sampled.Touch(slot);
    EXPECT_NEAR(sampled.MissRatio(10'000).miss_ratio, exact, 0.04) << "seed " << seed;
  }
}

TEST(SampledStackDistancesTest, NothingTouchedMissesNothing) {
  EXPECT_EQ(SampledStackDistances(0.5, 1).MissRatio(10).miss_ratio, 0);
}

using SampledStackDistancesDeathTest = testing::Test;

TEST(SampledStackDistancesDeathTest, ARateOutsideItsRangeAborts) {
  EXPECT_DEATH(SampledStackDistances(0, 1), "rate");
  EXPECT_DEATH(SampledStackDistances(1.5, 1), "rate");
}

}  // namespace
}  // namespace kvstream::cache
