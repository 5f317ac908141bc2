// What every production backend promises, on real files.
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "kvstream/buffer.h"

#include "base/prng.h"
#include "io/posix_file_system.h"
#include "io/probe.h"
#include "testing/temp_dir.h"

namespace kvstream::io {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

struct BackendCase {
  const char* name;
  BackendKind kind;
  bool direct;
};

class BackendTest : public ::testing::TestWithParam<BackendCase> {
 protected:
  void SetUp() override {
    auto backend = Make(kDepth);
    if (!backend) GTEST_SKIP() << backend.error().ToString();
    backend_ = std::move(*backend);
    fd_ = files_.Open(dir_.File("data"), O_RDWR | O_CREAT | (GetParam().direct ? O_DIRECT : 0));
    if (fd_ == -EINVAL) GTEST_SKIP() << "no O_DIRECT on " << dir_.path();
    ASSERT_GE(fd_, 0);
    auto memory = Buffer::Allocate(kFileBytes * 2);
    ASSERT_TRUE(memory.has_value());
    memory_ = std::move(*memory);
  }
  void TearDown() override {
    backend_.reset();
    if (fd_ >= 0) {
      EXPECT_EQ(files_.Close(fd_), 0);
    }
  }

  Result<std::unique_ptr<IoBackend>> Make(uint32_t depth) {
    BackendOptions options;
    options.kind = GetParam().kind;
    options.depth = depth;
    options.threads = 4;
    return MakeBackend(options, clock_);
  }

  IoRequest MakeRequest(IoRequest::Kind kind, iovec& entry, uint64_t offset) const {
    IoRequest request;
    request.kind = kind;
    request.fd = fd_;
    request.offset = offset;
    request.iov = {&entry, 1};
    request.bytes = static_cast<uint32_t>(entry.iov_len);
    return request;
  }

  // Blocks until the request is back.
  int32_t RunOne(IoRequest& request) {
    backend_->Enqueue(request);
    backend_->Submit();
    IoRequest* back = nullptr;
    while (backend_->Reap({&back, 1}, seconds(10)) == 0) continue;
    EXPECT_EQ(back, &request);
    return request.result;
  }

  // Fills the first half of memory_ with a pattern and writes it to the file, through the
  // kernel only.
  void FillFile() {
    base::Prng prng(7);
    for (size_t at = 0; at < kFileBytes; at += 8) {
      const uint64_t value = prng.Next();
      std::memcpy(memory_.data() + at, &value, sizeof(value));
    }
    ASSERT_EQ(files_.Write(fd_, {memory_.data(), kFileBytes}, 0), static_cast<int64_t>(kFileBytes));
  }

  static constexpr uint32_t kDepth = 16;
  static constexpr size_t kFileBytes = size_t{8} << 20;

  test::TempDir dir_;
  PosixFileSystem files_;
  base::SteadyClock clock_;
  Buffer memory_;
  std::unique_ptr<IoBackend> backend_;
  int fd_ = -1;
};

INSTANTIATE_TEST_SUITE_P(
    All, BackendTest,
    ::testing::Values(BackendCase{"UringDirect", BackendKind::kUring, true},
                      BackendCase{"UringBuffered", BackendKind::kUring, false},
                      BackendCase{"ThreadsDirect", BackendKind::kThreads, true},
                      BackendCase{"ThreadsBuffered", BackendKind::kThreads, false}),
    [](const auto& tested) { return tested.param.name; });

// One slot of the random workload.
struct Slot {
  IoRequest request;
  std::vector<iovec> iov;
  size_t first_page = 0;
};

TEST_P(BackendTest, ManyRandomRequestsMoveTheirOwnBytes) {
  constexpr uint64_t kSeed = 20240607;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  FillFile();
  base::Prng prng(kSeed);
  std::array<Slot, kDepth> slots;
  std::vector<Slot*> idle;
  for (Slot& slot : slots) idle.push_back(&slot);
  // Slot s reads into its own part of the second half of memory_.
  constexpr size_t kPartBytes = kFileBytes / kDepth;
  std::byte* const parts = memory_.data() + kFileBytes;
  size_t started = 0;
  size_t finished = 0;
  while (finished < 400) {
    while (!idle.empty() && started < 400) {
      Slot& slot = *idle.back();
      idle.pop_back();
      const size_t pages = 1 + prng.Below(kPartBytes / 4096);
      slot.first_page = prng.Below(kFileBytes / 4096 - pages + 1);
      std::byte* const part = parts + kPartBytes * static_cast<size_t>(&slot - slots.data());
      std::memset(part, 0, pages * 4096);
      slot.iov.clear();
      for (size_t at = 0; at < pages;) {
        const bool last = slot.iov.size() + 1 == kIovecsMax;
        const size_t count = last ? pages - at : 1 + prng.Below(pages - at);
        slot.iov.push_back({part + at * 4096, count * 4096});
        at += count;
      }
      slot.request = MakeRequest(IoRequest::Kind::kRead, slot.iov.front(), slot.first_page * 4096);
      slot.request.iov = slot.iov;
      slot.request.bytes = static_cast<uint32_t>(pages * 4096);
      slot.request.context = &slot;
      backend_->Enqueue(slot.request);
      ++started;
      ASSERT_EQ(backend_->in_flight(), started - finished);
    }
    backend_->Submit();
    std::array<IoRequest*, 5> back;
    const size_t count = backend_->Reap(back, seconds(10));
    for (size_t index = 0; index < count; ++index) {
      auto& slot = *static_cast<Slot*>(back[index]->context);
      ASSERT_EQ(slot.request.result, static_cast<int32_t>(slot.request.bytes));
      ASSERT_EQ(std::memcmp(slot.iov.front().iov_base, memory_.data() + slot.first_page * 4096,
                            slot.request.bytes),
                0);
      idle.push_back(&slot);
    }
    finished += count;
    ASSERT_EQ(backend_->in_flight(), started - finished);
  }
}

TEST_P(BackendTest, WhatIsWrittenCanBeRead) {
  std::byte* const back = memory_.data() + kFileBytes;
  std::memset(memory_.data(), 0x5a, 1 << 20);
  iovec out{memory_.data(), 1 << 20};
  IoRequest write = MakeRequest(IoRequest::Kind::kWrite, out, 4096);
  EXPECT_EQ(RunOne(write), 1 << 20);
  iovec in{back, 1 << 20};
  IoRequest read = MakeRequest(IoRequest::Kind::kRead, in, 4096);
  EXPECT_EQ(RunOne(read), 1 << 20);
  EXPECT_EQ(std::memcmp(back, memory_.data(), 1 << 20), 0);
}

TEST_P(BackendTest, AReadPastTheEndReturnsWhatIsThere) {
  FillFile();
  ASSERT_EQ(files_.Truncate(fd_, 70000), 0);
  std::byte* const back = memory_.data() + kFileBytes;
  iovec entry{back, 131072};
  IoRequest read = MakeRequest(IoRequest::Kind::kRead, entry, 0);
  EXPECT_EQ(RunOne(read), 70000);
  EXPECT_EQ(std::memcmp(back, memory_.data(), 70000), 0);
  read = MakeRequest(IoRequest::Kind::kRead, entry, 131072);
  EXPECT_EQ(RunOne(read), 0);
}

TEST_P(BackendTest, ErrorsComeBackAsResultsAndHarmNobodyElse) {
  FillFile();
  std::byte* const back = memory_.data() + kFileBytes;
  iovec entry{back, 4096};
  iovec other{back + 4096, 4096};
  IoRequest bad = MakeRequest(IoRequest::Kind::kRead, entry, 0);
  bad.fd = -1;
  IoRequest good = MakeRequest(IoRequest::Kind::kRead, other, 8192);
  backend_->Enqueue(bad);
  backend_->Enqueue(good);
  backend_->Submit();
  std::array<IoRequest*, 2> out;
  size_t count = 0;
  while (count < 2) count += backend_->Reap(std::span(out).subspan(count), seconds(10));
  EXPECT_EQ(bad.result, -EBADF);
  EXPECT_EQ(good.result, 4096);
  EXPECT_EQ(std::memcmp(back + 4096, memory_.data() + 8192, 4096), 0);
}

TEST_P(BackendTest, OnlyDirectTransfersHaveToBeAligned) {
  uint64_t magic = 0;
  ASSERT_EQ(files_.Magic(dir_.path().string(), &magic), 0);
  if (magic != 0xef53 && magic != 0x58465342) GTEST_SKIP() << "known of ext4 and XFS only";
  FillFile();
  iovec entry{memory_.data() + kFileBytes + 1, 4095};
  IoRequest read = MakeRequest(IoRequest::Kind::kRead, entry, 1);
  EXPECT_EQ(RunOne(read), GetParam().direct ? -EINVAL : 4095);
}

TEST_P(BackendTest, LookingWithNothingInFlightReturnsNothing) {
  std::array<IoRequest*, 4> out;
  EXPECT_EQ(backend_->Reap(out, nanoseconds(0)), 0u);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(backend_->Reap(out, milliseconds(5)), 0u);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(5));
}

TEST_P(BackendTest, AWakeBeforeTheWaitEndsIt) {
  std::array<IoRequest*, 4> out;
  EXPECT_EQ(backend_->Reap(out, nanoseconds(0)), 0u);
  for (int round = 0; round < 3; ++round) {
    backend_->Wake();
    backend_->Wake();
    EXPECT_EQ(backend_->Reap(out, std::chrono::hours(1)), 0u);
  }
}

TEST_P(BackendTest, AWakeDuringTheWaitEndsIt) {
  std::array<IoRequest*, 4> out;
  std::thread waker([this] {
    std::this_thread::sleep_for(milliseconds(10));
    backend_->Wake();
  });
  EXPECT_EQ(backend_->Reap(out, std::chrono::hours(1)), 0u);
  waker.join();
}

TEST_P(BackendTest, ASmallOutputLeavesTheRestForTheNextReap) {
  FillFile();
  std::array<iovec, 6> entries;
  std::array<IoRequest, 6> requests;
  for (size_t index = 0; index < requests.size(); ++index) {
    entries[index] = {memory_.data() + kFileBytes + index * 4096, 4096};
    requests[index] = MakeRequest(IoRequest::Kind::kRead, entries[index], index * 4096);
    backend_->Enqueue(requests[index]);
  }
  for (size_t left = requests.size(); left > 0; --left) {
    EXPECT_EQ(backend_->in_flight(), left);
    IoRequest* back = nullptr;
    ASSERT_EQ(backend_->Reap({&back, 1}, std::chrono::hours(1)), 1u);
    EXPECT_EQ(back->result, 4096);
  }
  EXPECT_EQ(backend_->in_flight(), 0u);
}

TEST_P(BackendTest, NothingTouchesMemoryAfterTheDestructor) {
  FillFile();
  std::byte* const back = memory_.data() + kFileBytes;
  std::array<iovec, kDepth> entries;
  std::array<IoRequest, kDepth> requests;
  constexpr size_t kPartBytes = kFileBytes / kDepth;
  for (size_t index = 0; index < kDepth; ++index) {
    entries[index] = {back + index * kPartBytes, kPartBytes};
    requests[index] = MakeRequest(IoRequest::Kind::kRead, entries[index], index * kPartBytes);
    backend_->Enqueue(requests[index]);
    if (index == kDepth / 2) backend_->Submit();  // the rest is enqueued only
  }
  backend_.reset();
  std::memset(back, 0xaa, kFileBytes);
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_TRUE(
      std::all_of(back, back + kFileBytes, [](std::byte b) { return b == std::byte{0xaa}; }));
}

TEST_P(BackendTest, WorksOnAThreadThatDidNotCreateIt) {
  FillFile();
  std::thread owner([this] {
    iovec entry{memory_.data() + kFileBytes, 65536};
    IoRequest read = MakeRequest(IoRequest::Kind::kRead, entry, 65536);
    EXPECT_EQ(RunOne(read), 65536);
    backend_.reset();
  });
  owner.join();
  EXPECT_EQ(std::memcmp(memory_.data() + kFileBytes, memory_.data() + 65536, 65536), 0);
}

TEST_P(BackendTest, AnUnusedBackendGoesQuietly) { backend_.reset(); }

TEST_P(BackendTest, ADepthOfZeroOrTooMuchIsAnError) {
  for (const uint32_t depth : {0u, 100000u}) {
    const auto made = Make(depth);
    ASSERT_FALSE(made.has_value());
    EXPECT_EQ(made.error().code(), ErrorCode::kInvalidArgument);
  }
}

using BackendDeathTest = BackendTest;
INSTANTIATE_TEST_SUITE_P(All, BackendDeathTest,
                         ::testing::Values(BackendCase{"Uring", BackendKind::kUring, false},
                                           BackendCase{"Threads", BackendKind::kThreads, false}),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(BackendDeathTest, MoreThanDepthInFlightAborts) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto small = Make(1);
  ASSERT_TRUE(small.has_value());
  iovec entry{memory_.data(), 4096};
  IoRequest first = MakeRequest(IoRequest::Kind::kRead, entry, 0);
  IoRequest second = first;
  (*small)->Enqueue(first);
  EXPECT_DEATH((*small)->Enqueue(second), "assertion failed");
}

TEST(MakeBackendTest, RefusesTheUndecidedKind) {
  BackendOptions options;
  options.kind = BackendKind::kAuto;
  const base::SteadyClock clock;
  const auto made = MakeBackend(options, clock);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code(), ErrorCode::kInvalidArgument);
}

TEST(MakeBackendTest, ShapesOnlyWhenAsked) {
  BackendOptions options;
  const base::SteadyClock clock;
  const auto plain = MakeBackend(options, clock);
  ASSERT_TRUE(plain.has_value());
  EXPECT_STREQ((*plain)->name(), "threads");
  options.shape.latency = milliseconds(1);
  const auto shaped = MakeBackend(options, clock);
  ASSERT_TRUE(shaped.has_value());
  EXPECT_STREQ((*shaped)->name(), "shaped threads");
}

}  // namespace
}  // namespace kvstream::io
