#include "cache/lru_index.h"

#include <algorithm>
#include <list>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace kvstream::cache {
namespace {

std::vector<uint32_t> Slots(const LruIndex& index) {
  std::vector<uint32_t> slots;
  index.ForEachOldestFirst([&](uint32_t slot, uint64_t) { slots.push_back(slot); });
  return slots;
}

TEST(LruIndexTest, StartsEmpty) {
  LruIndex index(100);
  EXPECT_EQ(index.size(), 0u);
  EXPECT_EQ(index.free_bytes(), 100u);
  EXPECT_FALSE(index.Contains(0));
  EXPECT_FALSE(index.Touch(7));
  EXPECT_EQ(index.bytes(7), 0u);
  EXPECT_EQ(index.Victim(), std::nullopt);
}

TEST(LruIndexTest, TheLeastRecentlyUsedSlotIsTheVictim) {
  LruIndex index(100);
  for (const uint32_t slot : {3u, 1u, 2u}) ASSERT_TRUE(index.Insert(slot, 10));
  EXPECT_EQ(index.Victim(), 3u);
  EXPECT_EQ(index.Victim(), 3u) << "asking does not evict";
  EXPECT_TRUE(index.Touch(3));
  EXPECT_EQ(index.Victim(), 1u);
  index.Erase(1);
  EXPECT_EQ(index.Victim(), 2u);
  EXPECT_EQ(Slots(index), (std::vector<uint32_t>{2, 3}));
}

TEST(LruIndexTest, TouchingFromTheTailKeepsTheHeadOfAPrefixLongest) {
  LruIndex index(100);
  for (uint32_t slot = 4; slot-- > 0;) ASSERT_TRUE(index.Insert(slot, 10));
  EXPECT_EQ(Slots(index), (std::vector<uint32_t>{3, 2, 1, 0}));
}

TEST(LruIndexTest, InsertRefusesWhatDoesNotFit) {
  LruIndex index(25);
  EXPECT_TRUE(index.Insert(0, 20));
  EXPECT_FALSE(index.Insert(1, 6));
  EXPECT_FALSE(index.Contains(1));
  EXPECT_TRUE(index.Insert(1, 5));
  EXPECT_EQ(index.free_bytes(), 0u);
  EXPECT_TRUE(index.Insert(2, 0));
}

TEST(LruIndexTest, ReservationsCountAgainstTheCapacityUntilCommittedOrReleased) {
  LruIndex index(100);
  EXPECT_TRUE(index.TryReserve(60));
  EXPECT_FALSE(index.TryReserve(41));
  EXPECT_FALSE(index.Insert(0, 41));
  index.Commit(0, 40);
  EXPECT_EQ(index.used_bytes(), 40u);
  EXPECT_EQ(index.reserved_bytes(), 20u);
  index.Release(20);
  EXPECT_EQ(index.free_bytes(), 60u);
}

TEST(LruIndexTest, AnEvictedEntryHoldsItsBytesUntilReleased) {
  LruIndex index(100);
  ASSERT_TRUE(index.Insert(5, 100));
  EXPECT_EQ(index.Evict(5), 100u);
  EXPECT_FALSE(index.Contains(5));
  EXPECT_EQ(index.used_bytes(), 0u);
  EXPECT_FALSE(index.TryReserve(1));
  index.Release(100);
  EXPECT_TRUE(index.TryReserve(100));
}

TEST(LruIndexTest, AdoptTakesWhatIsOnDiskEvenAboveTheCapacity) {
  LruIndex index(100);
  index.Adopt(0, 80);
  index.Adopt(1, 70);
  EXPECT_EQ(index.used_bytes(), 150u);
  EXPECT_EQ(index.free_bytes(), 0u);
  EXPECT_FALSE(index.TryReserve(1));
  index.Release(index.Evict(*index.Victim()));
  EXPECT_TRUE(index.TryReserve(30));
}

TEST(LruIndexTest, RequestsNearTheLimitOf64BitsAreRefused) {
  LruIndex index(UINT64_MAX);
  ASSERT_TRUE(index.TryReserve(UINT64_MAX - 1));
  EXPECT_FALSE(index.TryReserve(2));
  EXPECT_FALSE(index.TryReserve(UINT64_MAX));
  EXPECT_TRUE(index.TryReserve(1));
}

TEST(LruIndexTest, PinnedSlotsAreNeverVictims) {
  LruIndex index(100);
  for (uint32_t slot = 0; slot < 3; ++slot) ASSERT_TRUE(index.Insert(slot, 10));
  index.Pin(0);
  index.Pin(0);
  index.Pin(1);
  EXPECT_EQ(index.Victim(), 2u);
  index.Pin(2);
  EXPECT_EQ(index.Victim(), std::nullopt);
  index.Unpin(0);
  EXPECT_EQ(index.Victim(), std::nullopt) << "one of two pins is left";
  index.Unpin(0);
  EXPECT_EQ(index.Victim(), 0u);
}

TEST(LruIndexTest, SlotsThatWerePassedOverComeBackInOrderOfUse) {
  LruIndex index(100);
  for (uint32_t slot = 0; slot < 5; ++slot) {
    ASSERT_TRUE(index.Insert(slot, 10));
    index.Pin(slot);
  }
  EXPECT_EQ(index.Victim(), std::nullopt);
  index.Unpin(3);
  EXPECT_EQ(index.Victim(), 3u);
  index.Unpin(1);
  EXPECT_EQ(index.Victim(), 1u);
  index.Pin(1);
  EXPECT_EQ(index.Victim(), 3u);
  EXPECT_TRUE(index.Touch(3));
  ASSERT_TRUE(index.Insert(9, 10));
  EXPECT_EQ(index.Victim(), 3u);
  index.Unpin(4);
  EXPECT_EQ(index.Victim(), 4u);
}

TEST(LruIndexTest, PinsBelongToTheSlotAndOutliveItsEntry) {
  LruIndex index(100);
  index.Pin(4);
  EXPECT_FALSE(index.Contains(4));
  ASSERT_TRUE(index.Insert(4, 10));
  EXPECT_EQ(index.Victim(), std::nullopt);
  index.Erase(4);
  EXPECT_TRUE(index.pinned(4));
  index.Unpin(4);
  ASSERT_TRUE(index.Insert(4, 10));
  EXPECT_EQ(index.Victim(), 4u);
}

using LruIndexDeathTest = testing::Test;

TEST(LruIndexDeathTest, MisuseAborts) {
  LruIndex index(100);
  ASSERT_TRUE(index.Insert(0, 10));
  EXPECT_DEATH(index.Adopt(0, 10), "Contains");
  EXPECT_DEATH(index.Erase(1), "Contains");
  EXPECT_DEATH(index.Evict(1), "Contains");
  EXPECT_DEATH(index.Unpin(0), "pinned");
  EXPECT_DEATH(index.Release(1), "reserved_bytes_");
  EXPECT_DEATH(index.Commit(1, 1), "reserved_bytes_");
  EXPECT_DEATH(index.Adopt(1, LruIndex::kEntryBytesMax + 1), "kEntryBytesMax");
}

/// The same contract on a std::list, every operation a linear search.
class NaiveLru {
 public:
  explicit NaiveLru(uint64_t capacity) : capacity_(capacity) {}

  std::list<std::pair<uint32_t, uint64_t>> oldest_first;
  std::map<uint32_t, int> pins;
  uint64_t reserved = 0;

  auto Find(uint32_t slot) {
    return std::find_if(oldest_first.begin(), oldest_first.end(),
                        [&](const auto& entry) { return entry.first == slot; });
  }
  bool Contains(uint32_t slot) { return Find(slot) != oldest_first.end(); }
  uint64_t Used() const {
    uint64_t used = 0;
    for (const auto& entry : oldest_first) used += entry.second;
    return used;
  }
  bool Fits(uint64_t bytes) const {
    const uint64_t taken = Used() + reserved;
    return bytes == 0 || (taken <= capacity_ && bytes <= capacity_ - taken);
  }
  std::optional<uint32_t> Victim() {
    for (const auto& entry : oldest_first) {
      if (pins[entry.first] == 0) return entry.first;
    }
    return std::nullopt;
  }

 private:
  uint64_t capacity_;
};

class LruIndexModelTest : public testing::TestWithParam<uint64_t> {
 protected:
  static constexpr uint64_t kCapacity = 1000;

  void UseOneSlot() {
    const auto slot = static_cast<uint32_t>(prng_.Below(kSlots));
    const auto found = naive_.Find(slot);
    const bool present = found != naive_.oldest_first.end();
    ASSERT_EQ(index_.Contains(slot), present);
    switch (prng_.Below(3)) {
      case 0:
        ASSERT_EQ(index_.Touch(slot), present);
        if (present)
          naive_.oldest_first.splice(naive_.oldest_first.end(), naive_.oldest_first, found);
        break;
      case 1:
        if (present) Remove(slot);
        break;
      default:
        if (!present) AddOne(slot);
    }
  }

  void AddOne(uint32_t slot) {
    const uint64_t bytes = prng_.Below(80);
    const bool fits = naive_.Fits(bytes);
    if (prng_.Chance(0.05)) {
      index_.Adopt(slot, bytes);
    } else if (prng_.Chance(0.5)) {
      ASSERT_EQ(index_.Insert(slot, bytes), fits);
      if (!fits) return;
    } else {
      ASSERT_EQ(index_.TryReserve(bytes), fits);
      if (!fits) return;
      index_.Commit(slot, bytes);
    }
    naive_.oldest_first.emplace_back(slot, bytes);
  }

  void Remove(uint32_t slot) {
    const auto found = naive_.Find(slot);
    const uint64_t bytes = found->second;
    ASSERT_EQ(index_.bytes(slot), bytes);
    naive_.oldest_first.erase(found);
    if (prng_.Chance(0.5)) {
      index_.Erase(slot);
    } else {
      ASSERT_EQ(index_.Evict(slot), bytes);
      naive_.reserved += bytes;
    }
  }

  void PinOrUnpin() {
    const auto slot = static_cast<uint32_t>(prng_.Below(kSlots));
    if (prng_.Chance(0.5)) {
      index_.Pin(slot);
      ++naive_.pins[slot];
    } else if (naive_.pins[slot] > 0) {
      index_.Unpin(slot);
      --naive_.pins[slot];
    }
    ASSERT_EQ(index_.pinned(slot), naive_.pins[slot] > 0);
  }

  void ReserveOrRelease() {
    const uint64_t bytes = prng_.Below(60);
    if (prng_.Chance(0.4)) {
      const bool fits = naive_.Fits(bytes);
      ASSERT_EQ(index_.TryReserve(bytes), fits);
      if (fits) naive_.reserved += bytes;
    } else if (bytes <= naive_.reserved) {
      index_.Release(bytes);
      naive_.reserved -= bytes;
    }
  }

  void TakeVictim() {
    const std::optional<uint32_t> victim = naive_.Victim();
    ASSERT_EQ(index_.Victim(), victim);
    if (victim && prng_.Chance(0.5)) Remove(*victim);
  }

  void Compare() {
    std::vector<std::pair<uint32_t, uint64_t>> entries;
    index_.ForEachOldestFirst(
        [&](uint32_t slot, uint64_t bytes) { entries.emplace_back(slot, bytes); });
    ASSERT_TRUE(std::equal(entries.begin(), entries.end(), naive_.oldest_first.begin(),
                           naive_.oldest_first.end()));
    ASSERT_EQ(index_.size(), entries.size());
    ASSERT_EQ(index_.used_bytes(), naive_.Used());
    ASSERT_EQ(index_.reserved_bytes(), naive_.reserved);
  }

  static constexpr uint64_t kSlots = 40;

  base::Prng prng_{GetParam()};
  LruIndex index_{kCapacity};
  NaiveLru naive_{kCapacity};
};

TEST_P(LruIndexModelTest, AgreesWithANaiveListWhateverTheOperations) {
  SCOPED_TRACE(testing::Message() << "seed " << GetParam());
  for (int step = 0; step < 4000; ++step) {
    SCOPED_TRACE(testing::Message() << "step " << step);
    switch (prng_.Below(5)) {
      case 0:
        ASSERT_NO_FATAL_FAILURE(PinOrUnpin());
        break;
      case 1:
        ASSERT_NO_FATAL_FAILURE(ReserveOrRelease());
        break;
      case 2:
        ASSERT_NO_FATAL_FAILURE(TakeVictim());
        break;
      default:
        ASSERT_NO_FATAL_FAILURE(UseOneSlot());
    }
    ASSERT_NO_FATAL_FAILURE(Compare());
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, LruIndexModelTest, testing::Range<uint64_t>(1, 41));

}  // namespace
}  // namespace kvstream::cache
