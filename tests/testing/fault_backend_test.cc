#include "testing/fault_backend.h"

#include <fcntl.h>

#include <array>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "io/posix_file_system.h"
#include "io/thread_backend.h"
#include "testing/temp_dir.h"

namespace kvstream::test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr size_t kBytes = 8192;
constexpr size_t kRequests = 5;

class FaultBackendTest : public ::testing::Test {
 protected:
  FaultBackendTest() {
    fd_ = files_.Open(dir_.File("f"), O_RDWR | O_CREAT);
    for (size_t at = 0; at < contents_.size(); ++at)
      contents_[at] = static_cast<std::byte>(at / 64);
    EXPECT_EQ(files_.Write(fd_, contents_, 0), static_cast<int64_t>(contents_.size()));
    auto inner = io::ThreadBackend::Create({8, 2});
    EXPECT_TRUE(inner.has_value());
    backend_ = std::make_unique<FaultBackend>(std::move(*inner), plan_);
    for (size_t index = 0; index < kRequests; ++index) {
      entries_[index] = {memory_.data() + index * kBytes, kBytes};
      requests_[index].fd = fd_;
      requests_[index].offset = index * kBytes;
      requests_[index].iov = {&entries_[index], 1};
      requests_[index].bytes = kBytes;
    }
  }
  ~FaultBackendTest() override {
    backend_.reset();
    EXPECT_EQ(files_.Close(fd_), 0);
  }

  void AddFault(FaultOp op, FaultKind kind, uint64_t nth, milliseconds delay = milliseconds(0)) {
    FaultRule rule;
    rule.op = op;
    rule.kind = kind;
    rule.first = nth;
    rule.delay = delay;
    plan_.Add(rule);
  }
  // Starts all and waits for `count` of them.
  void RunAll(io::IoRequest::Kind kind, size_t count = kRequests) {
    for (io::IoRequest& request : requests_) {
      request.kind = kind;
      backend_->Enqueue(request);
    }
    backend_->Submit();
    Collect(count);
  }
  void Collect(size_t count) {
    std::array<io::IoRequest*, kRequests> out;
    for (size_t back = 0; back < count;)
      back += backend_->Reap(std::span(out).subspan(back), hours(1));
  }
  bool SamePart(size_t index) const {
    const auto at = static_cast<std::ptrdiff_t>(index * kBytes);
    return std::equal(memory_.begin() + at, memory_.begin() + at + kBytes, contents_.begin() + at);
  }

  TempDir dir_;
  io::PosixFileSystem files_;
  FaultPlan plan_{4};
  std::unique_ptr<FaultBackend> backend_;
  std::vector<std::byte> contents_ = std::vector<std::byte>(kBytes * kRequests);
  std::vector<std::byte> memory_ = std::vector<std::byte>(kBytes * kRequests);
  std::array<iovec, kRequests> entries_;
  std::array<io::IoRequest, kRequests> requests_;
  int fd_ = -1;
};

TEST_F(FaultBackendTest, WithoutRulesItIsTransparent) {
  RunAll(io::IoRequest::Kind::kRead);
  EXPECT_EQ(memory_, contents_);
  EXPECT_STREQ(backend_->name(), "faulty threads");
}

TEST_F(FaultBackendTest, TheNthOperationFailsWhicheverItIs) {
  for (size_t nth = 1; nth <= kRequests; ++nth) {
    plan_.Clear();
    AddFault(FaultOp::kRead, FaultKind::kErrno, nth);
    std::fill(memory_.begin(), memory_.end(), std::byte{0xee});
    RunAll(io::IoRequest::Kind::kRead);
    for (size_t index = 0; index < kRequests; ++index) {
      const bool failed = index + 1 == nth;
      EXPECT_EQ(requests_[index].result, failed ? -EIO : static_cast<int>(kBytes));
      EXPECT_EQ(SamePart(index), !failed);
    }
  }
}

TEST_F(FaultBackendTest, AShortReadTellsHalf) {
  AddFault(FaultOp::kRead, FaultKind::kShort, 2);
  RunAll(io::IoRequest::Kind::kRead);
  EXPECT_EQ(requests_[1].result, static_cast<int>(kBytes / 2));
  EXPECT_EQ(requests_[2].result, static_cast<int>(kBytes));
}

TEST_F(FaultBackendTest, AFlippedReadDiffersInOneBit) {
  AddFault(FaultOp::kRead, FaultKind::kFlipRead, 2);
  RunAll(io::IoRequest::Kind::kRead);
  int bits = 0;
  for (size_t at = 0; at < memory_.size(); ++at) {
    bits += __builtin_popcount(static_cast<unsigned>(memory_[at] ^ contents_[at]));
  }
  EXPECT_EQ(bits, 1);
  EXPECT_FALSE(SamePart(1));
}

TEST_F(FaultBackendTest, APartialWriteLandsHalfAndFails) {
  AddFault(FaultOp::kWrite, FaultKind::kPartialWrite, 1);
  std::fill(memory_.begin(), memory_.end(), std::byte{0xee});
  RunAll(io::IoRequest::Kind::kWrite);
  EXPECT_EQ(requests_[0].result, -EIO);
  EXPECT_EQ(requests_[1].result, static_cast<int>(kBytes));
  std::vector<std::byte> now(kBytes);
  ASSERT_EQ(files_.Read(fd_, now, 0), static_cast<int64_t>(kBytes));
  EXPECT_EQ(now[kBytes / 2 - 1], std::byte{0xee});
  EXPECT_EQ(now[kBytes / 2], contents_[kBytes / 2]);
}

TEST_F(FaultBackendTest, AHangReachesTheKernelOnlyWhenReleased) {
  AddFault(FaultOp::kRead, FaultKind::kHang, 3);
  RunAll(io::IoRequest::Kind::kRead, kRequests - 1);
  EXPECT_EQ(backend_->in_flight(), 1u);
  EXPECT_EQ(memory_[2 * kBytes + 64], std::byte{0});
  std::thread releaser([this] {
    std::this_thread::sleep_for(milliseconds(5));
    backend_->ReleaseHung();
  });
  Collect(1);
  releaser.join();
  EXPECT_EQ(requests_[2].result, static_cast<int>(kBytes));
  EXPECT_TRUE(SamePart(2));
  EXPECT_EQ(backend_->in_flight(), 0u);
}

TEST_F(FaultBackendTest, ADelayedRequestComesNoEarlier) {
  AddFault(FaultOp::kRead, FaultKind::kDelay, 1, milliseconds(20));
  const auto begin = std::chrono::steady_clock::now();
  RunAll(io::IoRequest::Kind::kRead);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(20));
  EXPECT_EQ(memory_, contents_);
}

TEST_F(FaultBackendTest, AWakeEndsTheWait) {
  AddFault(FaultOp::kRead, FaultKind::kHang, 1);
  backend_->Enqueue(requests_[0]);
  backend_->Submit();
  backend_->Wake();
  std::array<io::IoRequest*, 1> out;
  EXPECT_EQ(backend_->Reap(out, hours(1)), 0u);
}

}  // namespace
}  // namespace kvstream::test
