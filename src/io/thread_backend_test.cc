#include "io/thread_backend.h"

#include <signal.h>

#include <array>
#include <atomic>
#include <mutex>
#include <vector>

#include <gtest/gtest.h>

namespace kvstream::io {
namespace {

// What the fake system calls saw; they have no state of their own.
struct Calls {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<uint64_t> offsets;
  size_t running = 0;
  size_t running_max = 0;
  bool open = true;  // calls return
  bool signals_blocked = true;
};
Calls* g_calls = nullptr;

int64_t RecordedTransfer(IoRequest::Kind /*kind*/, int /*fd*/, std::span<const iovec> iov,
                         uint64_t offset) {
  Calls& calls = *g_calls;
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  std::unique_lock lock(calls.mutex);
  calls.signals_blocked = calls.signals_blocked && sigismember(&mask, SIGTERM) == 1;
  calls.offsets.push_back(offset);
  calls.running_max = std::max(calls.running_max, ++calls.running);
  calls.changed.notify_all();
  calls.changed.wait(lock, [&] { return calls.open; });
  --calls.running;
  return static_cast<int64_t>(iov.front().iov_len);
}

class ThreadBackendTest : public ::testing::Test {
 protected:
  ThreadBackendTest() { g_calls = &calls_; }
  ~ThreadBackendTest() override { g_calls = nullptr; }

  std::unique_ptr<ThreadBackend> Make(uint32_t threads) {
    auto backend = ThreadBackend::Create({kDepth, threads, &RecordedTransfer});
    EXPECT_TRUE(backend.has_value());
    return std::move(*backend);
  }
  void EnqueueAll(IoBackend& backend) {
    for (size_t index = 0; index < kDepth; ++index) {
      requests_[index].iov = {&entry_, 1};
      requests_[index].bytes = sizeof(memory_);
      requests_[index].offset = index;
      backend.Enqueue(requests_[index]);
    }
  }
  void WaitRunning(size_t count) {
    std::unique_lock lock(calls_.mutex);
    calls_.changed.wait(lock, [&] { return calls_.running == count; });
  }
  void SetOpen(bool open) {
    const std::lock_guard lock(calls_.mutex);
    calls_.open = open;
    calls_.changed.notify_all();
  }

  static constexpr uint32_t kDepth = 32;
  Calls calls_;
  std::array<std::byte, 64> memory_{};
  iovec entry_{memory_.data(), sizeof(memory_)};
  std::array<IoRequest, kDepth> requests_;
};

TEST_F(ThreadBackendTest, RequestsStartInTheOrderOfEnqueue) {
  const auto backend = Make(1);
  EnqueueAll(*backend);
  size_t back = 0;
  std::array<IoRequest*, 4> out;
  while (back < kDepth) {
    const size_t count = backend->Reap(out, std::chrono::hours(1));
    for (size_t index = 0; index < count; ++index) EXPECT_EQ(out[index], &requests_[back + index]);
    back += count;
  }
  for (size_t index = 0; index < kDepth; ++index) EXPECT_EQ(calls_.offsets[index], index);
}

TEST_F(ThreadBackendTest, NothingStartsBeforeSubmit) {
  const auto backend = Make(4);
  EnqueueAll(*backend);
  {
    const std::lock_guard lock(calls_.mutex);
    EXPECT_TRUE(calls_.offsets.empty());
  }
  EXPECT_EQ(backend->in_flight(), kDepth);
}

TEST_F(ThreadBackendTest, AsManyCallsRunAtOnceAsThereAreThreads) {
  const auto backend = Make(5);
  SetOpen(false);
  EnqueueAll(*backend);
  backend->Submit();
  WaitRunning(5);
  SetOpen(true);
  size_t back = 0;
  std::array<IoRequest*, 32> out;
  while (back < kDepth) back += backend->Reap(out, std::chrono::hours(1));
  EXPECT_EQ(calls_.running_max, 5u);
  EXPECT_TRUE(calls_.signals_blocked);
}

TEST_F(ThreadBackendTest, TheDestructorWaitsForWhatRunsAndDropsTheRest) {
  auto backend = Make(2);
  SetOpen(false);
  EnqueueAll(*backend);
  backend->Submit();
  WaitRunning(2);
  std::thread opener([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    SetOpen(true);
  });
  backend.reset();
  EXPECT_EQ(calls_.running, 0u);
  EXPECT_LE(calls_.offsets.size(), kDepth);
  opener.join();
}

TEST_F(ThreadBackendTest, ZeroThreadsIsAnError) {
  const auto backend = ThreadBackend::Create({4, 0, &RecordedTransfer});
  ASSERT_FALSE(backend.has_value());
  EXPECT_EQ(backend.error().code(), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace kvstream::io
