#include "core/core_test_util.h"
#include "core/shared_state.h"

namespace kvstream::core {
namespace {

constexpr TimePoint kStart = TimePoint(std::chrono::hours(1));

TEST(UnlinkQueueTest, HandsOutWhatCameFirst) {
  UnlinkQueue queue;
  queue.Push({TestMeta(1, 1), 10});
  queue.Push({TestMeta(2, 1), 20});
  EXPECT_EQ(queue.reserved_bytes(), 30u);
  EXPECT_EQ(queue.Pop().meta->key, TestKey(1));
  EXPECT_EQ(queue.reserved_bytes(), 20u);
  EXPECT_EQ(queue.Pop().meta->key, TestKey(2));
  EXPECT_TRUE(queue.empty());
}

TEST(UnlinkQueueTest, ConcernsANameUntilItsFileIsGone) {
  UnlinkQueue queue;
  queue.Push({TestMeta(1, 1), 10});
  EXPECT_TRUE(queue.Concerns(0, TestKey(1)));
  EXPECT_FALSE(queue.Concerns(1, TestKey(1)));
  const UnlinkQueue::Item item = queue.Pop();
  EXPECT_TRUE(queue.Concerns(0, TestKey(1)));
  queue.Done(item);
  EXPECT_FALSE(queue.Concerns(0, TestKey(1)));
}

TEST(UnlinkQueueTest, CountsTwoFilesOfOneName) {
  UnlinkQueue queue;
  queue.Push({TestMeta(1, 1), 10});
  queue.Push({TestMeta(1, 1, 2), 10});
  queue.Done(queue.Pop());
  EXPECT_TRUE(queue.Concerns(0, TestKey(1)));
  queue.Done(queue.Pop());
  EXPECT_FALSE(queue.Concerns(0, TestKey(1)));
}

TEST(UnlinkQueueTest, TriesWhatFailedAgainWhenItIsTime) {
  UnlinkQueue queue;
  queue.Push({TestMeta(1, 1), 10});
  queue.Failed(queue.Pop(), kStart + milliseconds(5));
  EXPECT_FALSE(queue.empty());
  EXPECT_EQ(queue.reserved_bytes(), 0u);  // nobody may count on it
  EXPECT_TRUE(queue.Concerns(0, TestKey(1)));
  EXPECT_TRUE(queue.HasFailed(0, TestKey(1)));
  EXPECT_FALSE(queue.HasDue(kStart));
  EXPECT_EQ(queue.retry_at(), kStart + milliseconds(5));
  EXPECT_TRUE(queue.HasDue(kStart + milliseconds(5)));
  EXPECT_EQ(queue.Pop().reserved_bytes, 10u);
  EXPECT_FALSE(queue.HasFailed(0, TestKey(1)));
}

TEST(UnlinkQueueTest, LetsNewFilesPassThoseThatFailed) {
  UnlinkQueue queue;
  queue.Push({TestMeta(1, 1), 10});
  queue.Failed(queue.Pop(), kStart);
  queue.Push({TestMeta(2, 1), 10});
  EXPECT_EQ(queue.Pop().meta->key, TestKey(2));
}

TEST(UnlinkQueueTest, ATemporaryFileConcernsNoName) {
  UnlinkQueue queue;
  queue.Push({TestMeta(1, 1), 10, 7});
  EXPECT_FALSE(queue.Concerns(0, TestKey(1)));
  const UnlinkQueue::Item item = queue.Pop();
  queue.Failed(item, kStart);
  EXPECT_FALSE(queue.HasFailed(0, TestKey(1)));
  queue.Done(queue.Pop());
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace kvstream::core
