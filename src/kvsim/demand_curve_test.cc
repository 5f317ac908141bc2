#include "kvsim/demand_curve.h"

#include <cmath>
#include <cstdio>

#include <gtest/gtest.h>

#include "cache/lru_index.h"

namespace kvstream::kvsim {
namespace {

constexpr uint64_t kChunkBytes = 1000;

trace::RequestTrace Load(const char* source) {
  auto trace = trace::LoadTrace(source, {});
  EXPECT_TRUE(trace.has_value());
  return trace ? *std::move(trace) : trace::RequestTrace();
}

// Reuses that an LRU of so many chunks misses, with the engine's own index.
uint64_t LruMisses(const trace::RequestTrace& trace, uint64_t chunks) {
  cache::LruIndex index(chunks);
  std::vector<bool> seen(trace.chunk_count);
  std::vector<uint64_t> ids;
  uint64_t misses = 0;
  for (const trace::Request& request : trace.requests) {
    trace.ChunkIds(request, ids);
    for (size_t left = ids.size(); left > 0; --left) {
      const auto id = static_cast<uint32_t>(ids[left - 1]);
      if (index.Touch(id)) continue;
      if (seen[id]) ++misses;
      seen[id] = true;
      while (!index.Insert(id, 1)) index.Release(index.Evict(index.Victim().value()));
    }
  }
  return misses;
}

TEST(DemandCurveTest, EqualsTheMissesOfAnLruCountForCount) {
  const trace::RequestTrace trace = Load("builtin:agent,sessions=12,turns=10,seed=7");
  const std::vector<uint64_t> memory = {50 * kChunkBytes, 200 * kChunkBytes, 700 * kChunkBytes};
  const DemandCurve curve =
      ComputeDemandCurve(trace, {.chunk_bytes = kChunkBytes, .memory = memory});
  ASSERT_EQ(curve.points.size(), 3u);
  for (const DemandPoint& point : curve.points) {
    const uint64_t misses = LruMisses(trace, point.memory_bytes / kChunkBytes);
    EXPECT_NEAR(point.demand_bytes, static_cast<double>(misses * kChunkBytes), 1e-3)
        << point.memory_bytes;
  }
  EXPECT_EQ(curve.unique_chunks, static_cast<double>(trace.chunk_count));
}

TEST(DemandCurveTest, TheDefaultGridEndsWhereNothingIsLeft) {
  const trace::RequestTrace trace = Load("builtin:chat,sessions=20,seed=3");
  const DemandCurve curve = ComputeDemandCurve(trace, {.chunk_bytes = 20'000'000});
  ASSERT_GT(curve.points.size(), 2u);
  EXPECT_EQ(curve.points.back().demand_bytes, 0);
  for (size_t i = 1; i < curve.points.size(); ++i) {
    EXPECT_LE(curve.points[i].demand_bytes, curve.points[i - 1].demand_bytes);
  }
}

TEST(DemandCurveTest, ASampleComesCloseToTheExactCurve) {
  const trace::RequestTrace trace = Load("builtin:agent,sessions=200,turns=20,seed=5");
  const std::vector<uint64_t> memory = {5000 * kChunkBytes};
  const DemandPoint exact =
      ComputeDemandCurve(trace, {.chunk_bytes = kChunkBytes, .memory = memory}).points[0];
  const uint64_t seed = 11;
  const DemandPoint sampled =
      ComputeDemandCurve(trace,
                         {.chunk_bytes = kChunkBytes, .rate = 0.2, .memory = memory, .seed = seed})
          .points[0];
  std::printf("seed %lu: exact %.4f, sampled %.4f +- %.4f\n", static_cast<unsigned long>(seed),
              exact.miss_ratio, sampled.miss_ratio, sampled.error);
  EXPECT_GT(sampled.error, 0);
  EXPECT_NEAR(sampled.miss_ratio, exact.miss_ratio, 0.05);
}

TEST(DemandCurveTest, CompressionIsMoreMemoryForFewerBytes) {
  const trace::RequestTrace trace = Load("builtin:agent,sessions=12,turns=10,seed=7");
  const DemandCurve plain =
      ComputeDemandCurve(trace, {.chunk_bytes = kChunkBytes, .memory = {400 * kChunkBytes}});
  const DemandCurve halved = ComputeDemandCurve(
      trace, {.chunk_bytes = kChunkBytes, .compression = 2, .memory = {200 * kChunkBytes}});
  EXPECT_GT(plain.points[0].demand_bytes, 0);
  EXPECT_DOUBLE_EQ(halved.points[0].demand_bytes, plain.points[0].demand_bytes / 2);
  EXPECT_GT(plain.distances.p50, 0u);
  EXPECT_EQ(halved.distances.p50, plain.distances.p50 / 2);
}

}  // namespace
}  // namespace kvstream::kvsim
