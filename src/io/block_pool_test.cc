#include "io/block_pool.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "kvstream/buffer.h"

#include "io/huge_memory.h"

namespace kvstream::io {
namespace {

std::unique_ptr<BlockPool> MakePool(size_t block_bytes, size_t capacity) {
  auto pool = BlockPool::Create(block_bytes, capacity);
  EXPECT_TRUE(pool.has_value());
  return std::move(*pool);
}

TEST(BlockPoolTest, HandsOutEveryBlockOnceThenNone) {
  const auto pool = MakePool(size_t{1} << 20, 5);
  std::set<std::byte*> blocks;
  for (size_t index = 0; index < 5; ++index) {
    EXPECT_EQ(pool->free_blocks(), 5 - index);
    std::byte* const block = pool->TryTake();
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % (size_t{1} << 20), 0u);
    std::memset(block, static_cast<int>(index) + 1, pool->block_bytes());
    EXPECT_TRUE(blocks.insert(block).second);
  }
  EXPECT_EQ(pool->TryTake(), nullptr);
  // Had two blocks overlapped, the later one would have overwritten the earlier.
  std::set<int> values;
  for (std::byte* const block : blocks) {
    values.insert(static_cast<int>(block[0]));
    EXPECT_EQ(block[0], block[pool->block_bytes() - 1]);
    pool->Give(block);
  }
  EXPECT_EQ(values, (std::set<int>{1, 2, 3, 4, 5}));
  EXPECT_EQ(pool->free_blocks(), pool->capacity());
}

TEST(BlockPoolTest, TheBlockGivenLastIsTakenNext) {
  const auto pool = MakePool(4096, 3);
  std::byte* const first = pool->TryTake();
  std::byte* const second = pool->TryTake();
  pool->Give(first);
  EXPECT_EQ(pool->TryTake(), first);
  pool->Give(first);
  pool->Give(second);
}

TEST(BlockPoolTest, NoBlockIsTakenTwiceByConcurrentThreads) {
  constexpr size_t kThreads = 4;
  const auto pool = MakePool(4096, 3);
  std::vector<std::thread> threads;
  for (size_t id = 0; id < kThreads; ++id) {
    threads.emplace_back([&pool, id] {
      for (int round = 0; round < 2000; ++round) {
        std::byte* const block = pool->TryTake();
        if (block == nullptr) continue;
        std::memset(block, static_cast<int>(id), 64);
        for (size_t at = 0; at < 64; ++at) ASSERT_EQ(block[at], static_cast<std::byte>(id));
        pool->Give(block);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool->free_blocks(), 3u);
}

TEST(BlockPoolTest, AForkedChildSeesNoneOfTheData) {
  const auto pool = MakePool(4096, 1);
  std::byte* const block = pool->TryTake();
  block[0] = std::byte{42};
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(static_cast<int>(block[0]));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(block[0], std::byte{42});
  pool->Give(block);
}

TEST(BlockPoolTest, MemoryThatCannotBeMappedIsAnError) {
  const auto pool = BlockPool::Create(size_t{1} << 30, size_t{1} << 30);
  ASSERT_FALSE(pool.has_value());
  EXPECT_EQ(pool.error().code(), ErrorCode::kNoSpace);
  const auto wrapped = BlockPool::Create(size_t{1} << 40, size_t{1} << 40);
  ASSERT_FALSE(wrapped.has_value());
  EXPECT_EQ(wrapped.error().code(), ErrorCode::kNoSpace);
}

TEST(BlockPoolDeathTest, ABlockGivenTwiceAborts) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto pool = MakePool(4096, 2);
  std::byte* const block = pool->TryTake();
  pool->Give(block);
  EXPECT_DEATH(pool->Give(block), "assertion failed");
  EXPECT_DEATH(pool->Give(block + 1), "assertion failed");
}

TEST(BlockPoolDeathTest, DestroyingThePoolWithABlockOutAborts) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        const auto pool = MakePool(4096, 2);
        static_cast<void>(pool->TryTake());
      },
      "assertion failed");
}

TEST(BufferTest, IsAlignedZeroedAndRoundedUp) {
  auto buffer = Buffer::Allocate(5'000'000);
  ASSERT_TRUE(buffer.has_value());
  EXPECT_EQ(buffer->size(), 3 * kHugePageBytes);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % kHugePageBytes, 0u);
  for (const std::byte value : buffer->span()) ASSERT_EQ(value, std::byte{0});
}

TEST(BufferTest, MovingPassesTheMemoryOn) {
  auto allocated = Buffer::Allocate(1);
  ASSERT_TRUE(allocated.has_value());
  Buffer first = std::move(*allocated);
  std::byte* const data = first.data();
  data[0] = std::byte{7};
  Buffer second;
  second = std::move(first);
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(second.data()[0], std::byte{7});
  EXPECT_EQ(first.data(),
            nullptr);  // NOLINT(bugprone-use-after-move): what moving leaves is promised
  EXPECT_EQ(first.size(), 0u);
}

TEST(BufferTest, RefusesNothingAndTooMuch) {
  const auto nothing = Buffer::Allocate(0);
  ASSERT_FALSE(nothing.has_value());
  EXPECT_EQ(nothing.error().code(), ErrorCode::kInvalidArgument);
  const auto too_much = Buffer::Allocate(SIZE_MAX - 5);
  ASSERT_FALSE(too_much.has_value());
  EXPECT_EQ(too_much.error().code(), ErrorCode::kNoSpace);
}

}  // namespace
}  // namespace kvstream::io
