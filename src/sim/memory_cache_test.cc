#include "sim/memory_cache.h"

#include <algorithm>
#include <list>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace kvstream::sim {
namespace {

using Place = MemoryCache::Place;

constexpr uint64_t kChunk = 100;

std::vector<uint64_t> Ids(uint64_t first, uint64_t count) {
  std::vector<uint64_t> ids;
  for (uint64_t id = first; id < first + count; ++id) ids.push_back(id);
  return ids;
}

void Serve(MemoryCache& memory, const std::vector<uint64_t>& ids, uint64_t private_bytes = 0) {
  memory.Admit(ids, private_bytes);
  memory.Finish(ids, private_bytes);
}

TEST(MemoryCacheTest, TheNewestChunksAreOnTheGpuAndTheNextInHostMemory) {
  MemoryCache memory({.gpu_bytes = 2 * kChunk, .host_bytes = 2 * kChunk}, kChunk);
  for (uint64_t id = 0; id < 5; ++id) Serve(memory, Ids(id, 1));
  EXPECT_EQ(memory.Find(0), Place::kNone);
  EXPECT_EQ(memory.Find(1), Place::kHost);
  EXPECT_EQ(memory.Find(2), Place::kHost);
  EXPECT_EQ(memory.Find(3), Place::kGpu);
  EXPECT_EQ(memory.Find(4), Place::kGpu);
}

TEST(MemoryCacheTest, TheHeadOfAPrefixIsEvictedLast) {
  MemoryCache memory({.gpu_bytes = 4 * kChunk, .host_bytes = 0}, kChunk);
  Serve(memory, Ids(0, 4));
  Serve(memory, Ids(10, 2));
  EXPECT_EQ(memory.Find(0), Place::kGpu);
  EXPECT_EQ(memory.Find(1), Place::kGpu);
  EXPECT_EQ(memory.Find(2), Place::kNone);
  EXPECT_EQ(memory.Find(3), Place::kNone);
}

TEST(MemoryCacheTest, RequestsInFlightShrinkWhatIsLeftForOthers) {
  MemoryCache memory({.gpu_bytes = 6 * kChunk, .host_bytes = 2 * kChunk}, kChunk);
  Serve(memory, Ids(0, 6));
  // 2 chunks and 3 chunks' worth of tail and answer: of the 8, 3 are left for the first 6.
  memory.Admit(Ids(10, 2), 3 * kChunk);
  EXPECT_EQ(memory.in_flight_bytes(), 5 * kChunk);
  EXPECT_NE(memory.Find(2), Place::kNone);
  EXPECT_EQ(memory.Find(3), Place::kNone);
  EXPECT_FALSE(memory.Fits(Ids(20, 2), 0));
  EXPECT_TRUE(memory.Fits(Ids(20, 1), 0));
  EXPECT_TRUE(memory.Fits(Ids(10, 2), kChunk)) << "chunks in flight are shared";
  memory.Finish(Ids(10, 2), 3 * kChunk);
  EXPECT_TRUE(memory.idle());
}

TEST(MemoryCacheTest, ARequestInFlightKeepsItsChunks) {
  MemoryCache memory({.gpu_bytes = 4 * kChunk, .host_bytes = 0}, kChunk);
  memory.Admit(Ids(0, 2), 0);
  for (uint64_t id = 10; id < 20; ++id) Serve(memory, Ids(id, 1));
  EXPECT_EQ(memory.Find(0), Place::kGpu);
  EXPECT_EQ(memory.Find(1), Place::kGpu);
  memory.Finish(Ids(0, 2), 0);
}

/// The plainest LRU there is.
class PlainLru {
 public:
  explicit PlainLru(size_t chunks) : chunks_(chunks) {}

  uint64_t LeadingHits(const std::vector<uint64_t>& ids) const {
    uint64_t hits = 0;
    while (hits < ids.size() && std::count(order_.begin(), order_.end(), ids[hits]) > 0) ++hits;
    return hits;
  }
  void Use(const std::vector<uint64_t>& ids) {
    for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
      order_.remove(*id);
      order_.push_front(*id);
      if (order_.size() > chunks_) order_.pop_back();
    }
  }

 private:
  size_t chunks_;
  std::list<uint64_t> order_;
};

TEST(MemoryCacheTest, HitsAreThoseOfAPlainLruOfBothMemories) {
  constexpr uint64_t kSeed = 11;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  base::Prng prng(kSeed);
  MemoryCache memory({.gpu_bytes = 12 * kChunk, .host_bytes = 18 * kChunk}, kChunk);
  PlainLru plain(30);
  uint64_t all_hits = 0;
  for (int turn = 0; turn < 3000; ++turn) {
    const std::vector<uint64_t> ids = Ids(prng.Below(12) * 20, 1 + prng.Below(8));
    uint64_t hits = 0;
    while (hits < ids.size() && memory.Find(static_cast<uint32_t>(ids[hits])) != Place::kNone) {
      ++hits;
    }
    ASSERT_EQ(hits, plain.LeadingHits(ids)) << "turn " << turn;
    all_hits += hits;
    Serve(memory, ids);
    plain.Use(ids);
  }
  EXPECT_GT(all_hits, 1000u);
}

}  // namespace
}  // namespace kvstream::sim
