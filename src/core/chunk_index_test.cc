#include "core/chunk_index.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/prng.h"
#include "core/core_test_util.h"

namespace kvstream::core {
namespace {

constexpr uint64_t kCapacities[] = {uint64_t{1} << 40, uint64_t{1} << 40};

/// Keys that share their first bytes, and with them the place where a search begins.
ChunkKey CollidingKey(uint32_t number) {
  ChunkKey key;
  key.bytes[8] = static_cast<std::byte>(number);
  key.bytes[9] = static_cast<std::byte>(number >> 8);
  return key;
}

chunk::MetaRef MetaOf(const ChunkKey& key) {
  return chunk::MetaRef::Create(0, key, kTestBlockBytes, kTestBlockBytes);
}

Slot AddChunk(ChunkIndex& index, const ChunkKey& key, uint32_t tier = 0) {
  const Slot slot = index.SetVersion(MetaOf(key));
  index.AddCopy(slot, tier, ChunkIndex::CopyKind::kFound);
  return slot;
}

TEST(ChunkIndexTest, FindsOnlyWhatIsThere) {
  ChunkIndex index(kCapacities);
  const Slot slot = AddChunk(index, TestKey(1));
  EXPECT_EQ(index.Find(0, TestKey(1)), slot);
  EXPECT_EQ(index.Find(0, TestKey(2)), kNoSlot);
  EXPECT_EQ(index.Find(1, TestKey(1)), kNoSlot);  // another namespace
}

TEST(ChunkIndexTest, KeepsTheRestOfACollisionReachableWhenOneGoes) {
  for (uint32_t gone = 0; gone < 5; ++gone) {
    ChunkIndex index(kCapacities);
    std::vector<Slot> slots;
    for (uint32_t number = 0; number < 5; ++number) {
      slots.push_back(AddChunk(index, CollidingKey(number)));
    }
    index.DropCopy(slots[gone], 0);
    for (uint32_t number = 0; number < 5; ++number) {
      const Slot expected = number == gone ? kNoSlot : slots[number];
      EXPECT_EQ(index.Find(0, CollidingKey(number)), expected) << gone << " " << number;
    }
  }
}

TEST(ChunkIndexTest, KeepsAPinnedChunksSlotWithoutCopies) {
  ChunkIndex index(kCapacities);
  const Slot slot = AddChunk(index, TestKey(1));
  index.Pin(slot);
  index.DropCopy(slot, 0);
  EXPECT_EQ(index.Find(0, TestKey(1)), slot);
  EXPECT_FALSE(index.entry(slot).readable());
  index.Unpin(slot);
  EXPECT_EQ(index.Find(0, TestKey(1)), kNoSlot);
}

TEST(ChunkIndexTest, CountsAForeignCopyButNotItsBytes) {
  ChunkIndex index(kCapacities);
  const Slot slot = index.SetVersion(MetaOf(TestKey(1)));
  index.AddCopy(slot, 1, ChunkIndex::CopyKind::kForeign);
  EXPECT_EQ(index.copies(1), 1u);
  EXPECT_EQ(index.used_bytes(1), 0u);
  EXPECT_FALSE(index.Victim(1).has_value());
}

TEST(ChunkIndexTest, KeepsAnEvictedFilesBytesUntilTheyAreReleased) {
  ChunkIndex index(kCapacities);
  const Slot slot = AddChunk(index, TestKey(1));
  const uint64_t bytes = index.entry(slot).meta->FileBytes();
  EXPECT_EQ(index.used_bytes(0), bytes);
  index.DropCopy(slot, 0);
  EXPECT_EQ(index.used_bytes(0), bytes);
  index.ReleaseSpace(0, bytes);
  EXPECT_EQ(index.used_bytes(0), 0u);
}

/// The same operations on an index and on a map, with more chunks than the first table holds and
/// many that collide.
class IndexAgainstMap {
 public:
  explicit IndexAgainstMap(uint64_t seed) : random_(seed) {}

  void Run(int steps) {
    for (int step = 0; step < steps; ++step) {
      const auto number = static_cast<uint32_t>(random_.Below(2000));
      const ChunkKey key = number < 300 ? CollidingKey(number) : TestKey(number);
      Change(key);
      ASSERT_EQ(index_.size(), model_.size());
      const auto known = model_.find(key);
      ASSERT_EQ(index_.Find(0, key), known == model_.end() ? kNoSlot : known->second.slot);
    }
    for (const auto& [key, chunk] : model_) {
      ASSERT_EQ(index_.Find(0, key), chunk.slot);
      ASSERT_EQ(index_.entry(chunk.slot).holders, chunk.holders);
      ASSERT_EQ(index_.entry(chunk.slot).pins, chunk.pins);
    }
  }

 private:
  struct Chunk {
    Slot slot = kNoSlot;
    TierMask holders = 0;
    uint32_t pins = 0;
  };

  void Change(const ChunkKey& key) {
    const auto tier = static_cast<uint32_t>(random_.Below(2));
    const auto bit = static_cast<TierMask>(1u << tier);
    Chunk& chunk = model_[key];
    if (chunk.slot == kNoSlot) chunk.slot = index_.SetVersion(MetaOf(key));
    if ((chunk.holders & bit) == 0) {
      chunk.holders |= bit;
      index_.AddCopy(chunk.slot, tier, ChunkIndex::CopyKind::kFound);
    } else if (random_.Chance(0.3)) {
      ++chunk.pins;
      index_.Pin(chunk.slot);
    } else if (chunk.pins > 0 && random_.Chance(0.7)) {
      --chunk.pins;
      index_.Unpin(chunk.slot);
    } else {
      chunk.holders &= static_cast<TierMask>(~bit);
      index_.DropCopy(chunk.slot, tier);
    }
    if (chunk.holders == 0 && chunk.pins == 0) model_.erase(key);
  }

  base::Prng random_;
  ChunkIndex index_{kCapacities};
  std::map<ChunkKey, Chunk> model_;
};

TEST(ChunkIndexTest, AgreesWithAMapAfterRandomOperations) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    IndexAgainstMap(seed).Run(20'000);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(ChunkIndexTest, VisitsForeignCopiesFirstThenOwnOnesOldestFirst) {
  ChunkIndex index(kCapacities);
  const Slot first = AddChunk(index, TestKey(1));
  const Slot second = AddChunk(index, TestKey(2));
  const Slot foreign = index.SetVersion(MetaOf(TestKey(3)));
  index.AddCopy(foreign, 0, ChunkIndex::CopyKind::kForeign);
  index.Touch(first);
  std::vector<Slot> visited;
  index.VisitCopies(0, [&](Slot slot) { visited.push_back(slot); });
  EXPECT_EQ(visited, (std::vector<Slot>{foreign, second, first}));
}

}  // namespace
}  // namespace kvstream::core
