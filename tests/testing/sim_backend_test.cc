#include "testing/sim_backend.h"

#include <fcntl.h>

#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace kvstream::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr size_t kBytes = 4096;
constexpr size_t kRequests = 6;

class SimBackendTest : public ::testing::Test {
 protected:
  SimBackendTest() {
    device_.bytes_per_second = kBytes * 1000;  // one request a millisecond
    device_.latency = milliseconds(5);
    contents_.resize(kBytes * kRequests);
    base::Prng prng(3);
    for (std::byte& value : contents_) value = static_cast<std::byte>(prng.Next());
    files_.SetContents("/f", contents_);
    fd_ = files_.Open("/f", O_RDWR);
    for (size_t index = 0; index < kRequests; ++index) {
      entries_[index] = {memory_.data() + index * kBytes, kBytes};
      requests_[index].fd = fd_;
      requests_[index].offset = index * kBytes;
      requests_[index].iov = {&entries_[index], 1};
      requests_[index].bytes = kBytes;
    }
  }

  void StartAll(io::IoRequest::Kind kind) {
    for (io::IoRequest& request : requests_) {
      request.kind = kind;
      backend_.Enqueue(request);
    }
    backend_.Submit();
  }
  std::vector<io::IoRequest*> ReapNow() {
    std::vector<io::IoRequest*> out(kRequests);
    out.resize(backend_.Reap(out, std::chrono::hours(1)));
    return out;
  }
  void AddFault(FaultOp op, FaultKind kind, uint64_t nth) {
    FaultRule rule;
    rule.op = op;
    rule.kind = kind;
    rule.first = nth;
    plan_.Add(rule);
  }
  std::vector<std::byte> Part(const std::vector<std::byte>& all, size_t index) const {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(index * kBytes);
    return {begin, begin + kBytes};
  }

  SimClock clock_;
  SimFileSystem files_;
  SimDevice device_;
  FaultPlan plan_{9};
  SimBackend backend_{files_, device_, clock_, {kRequests, &plan_}};
  std::vector<std::byte> contents_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(kBytes * kRequests);
  std::array<iovec, kRequests> entries_;
  std::array<io::IoRequest, kRequests> requests_;
  int fd_ = -1;
};

TEST_F(SimBackendTest, TheDeviceServesOneRequestAtATime) {
  const TimePoint begin = clock_.Now();
  StartAll(io::IoRequest::Kind::kRead);
  EXPECT_TRUE(ReapNow().empty());
  for (size_t index = 0; index < kRequests; ++index) {
    EXPECT_EQ(backend_.NextCompletion() - begin, milliseconds(5 + 1 + static_cast<int>(index)));
    clock_.AdvanceTo(backend_.NextCompletion());
    ASSERT_EQ(ReapNow(), std::vector<io::IoRequest*>{&requests_[index]});
  }
  EXPECT_EQ(memory_, contents_);
  EXPECT_EQ(backend_.NextCompletion(), TimePoint::max());
}

TEST_F(SimBackendTest, EqualTimesComeBackInTheOrderOfSubmit) {
  device_.bytes_per_second = uint64_t{1} << 50;  // no service time: all are due together
  StartAll(io::IoRequest::Kind::kRead);
  clock_.Advance(milliseconds(5));
  const std::vector<io::IoRequest*> back = ReapNow();
  ASSERT_EQ(back.size(), kRequests);
  for (size_t index = 0; index < kRequests; ++index) EXPECT_EQ(back[index], &requests_[index]);
}

TEST_F(SimBackendTest, DataMovesAtCompletionNotBefore) {
  StartAll(io::IoRequest::Kind::kWrite);
  clock_.Advance(milliseconds(7));
  EXPECT_EQ(ReapNow().size(), 2u);
  const std::vector<std::byte> now = files_.Contents("/f");
  EXPECT_EQ(Part(now, 1), Part(memory_, 1));
  EXPECT_EQ(Part(now, 2), Part(contents_, 2));
}

TEST_F(SimBackendTest, TheNthReadFailsWhicheverItIs) {
  for (size_t nth = 1; nth <= kRequests; ++nth) {
    plan_.Clear();
    AddFault(FaultOp::kRead, FaultKind::kErrno, nth);
    StartAll(io::IoRequest::Kind::kRead);
    clock_.Advance(milliseconds(100));
    ASSERT_EQ(ReapNow().size(), kRequests);
    for (size_t index = 0; index < kRequests; ++index) {
      EXPECT_EQ(requests_[index].result, index + 1 == nth ? -EIO : static_cast<int>(kBytes));
    }
  }
}

TEST_F(SimBackendTest, AShortReadEndsEarly) {
  AddFault(FaultOp::kRead, FaultKind::kShort, 3);
  StartAll(io::IoRequest::Kind::kRead);
  clock_.Advance(milliseconds(100));
  ASSERT_EQ(ReapNow().size(), kRequests);
  EXPECT_EQ(requests_[2].result, static_cast<int>(kBytes / 2));
}

TEST_F(SimBackendTest, AFlippedReadLeavesTheFileAlone) {
  AddFault(FaultOp::kRead, FaultKind::kFlipRead, 2);
  StartAll(io::IoRequest::Kind::kRead);
  clock_.Advance(milliseconds(100));
  ASSERT_EQ(ReapNow().size(), kRequests);
  EXPECT_EQ(files_.Contents("/f"), contents_);
  EXPECT_NE(Part(memory_, 1), Part(contents_, 1));
  EXPECT_EQ(Part(memory_, 0), Part(contents_, 0));
}

TEST_F(SimBackendTest, AFlippedWriteStays) {
  AddFault(FaultOp::kWrite, FaultKind::kFlipStored, 2);
  StartAll(io::IoRequest::Kind::kWrite);
  clock_.Advance(milliseconds(100));
  ASSERT_EQ(ReapNow().size(), kRequests);
  const std::vector<std::byte> now = files_.Contents("/f");
  EXPECT_NE(Part(now, 1), Part(memory_, 1));
  EXPECT_EQ(Part(now, 2), Part(memory_, 2));
  EXPECT_EQ(requests_[1].result, static_cast<int>(kBytes));
}

TEST_F(SimBackendTest, APartialWriteLandsHalfAndFails) {
  AddFault(FaultOp::kWrite, FaultKind::kPartialWrite, 1);
  StartAll(io::IoRequest::Kind::kWrite);
  clock_.Advance(milliseconds(100));
  ASSERT_EQ(ReapNow().size(), kRequests);
  EXPECT_EQ(requests_[0].result, -EIO);
  const std::vector<std::byte> now = files_.Contents("/f");
  EXPECT_EQ(now[0], memory_[0]);
  EXPECT_EQ(now[kBytes / 2 - 1], memory_[kBytes / 2 - 1]);
  EXPECT_TRUE(
      std::equal(now.begin() + kBytes / 2, now.begin() + kBytes, contents_.begin() + kBytes / 2));
}

TEST_F(SimBackendTest, ATruncatedFileEndsReadsEarly) {
  AddFault(FaultOp::kRead, FaultKind::kTruncateFile, 1);
  StartAll(io::IoRequest::Kind::kRead);
  clock_.Advance(milliseconds(100));
  ASSERT_EQ(ReapNow().size(), kRequests);
  EXPECT_EQ(requests_[2].result, static_cast<int>(kBytes));
  EXPECT_EQ(requests_[3].result, 0);
}

TEST_F(SimBackendTest, AHangLastsUntilReleased) {
  AddFault(FaultOp::kRead, FaultKind::kHang, 2);
  StartAll(io::IoRequest::Kind::kRead);
  clock_.Advance(std::chrono::hours(1));
  EXPECT_EQ(ReapNow().size(), kRequests - 1);
  EXPECT_EQ(backend_.in_flight(), 1u);
  EXPECT_EQ(backend_.NextCompletion(), TimePoint::max());
  EXPECT_EQ(Part(memory_, 1), std::vector<std::byte>(kBytes));
  plan_.Release();
  EXPECT_LE(backend_.NextCompletion(), clock_.Now());
  ASSERT_EQ(ReapNow(), std::vector<io::IoRequest*>{&requests_[1]});
  EXPECT_EQ(requests_[1].result, static_cast<int>(kBytes));
  EXPECT_EQ(Part(memory_, 1), Part(contents_, 1));
}

TEST_F(SimBackendTest, ADelayHoldsTheDeviceToo) {
  AddFault(FaultOp::kRead, FaultKind::kDelay, 1);
  const TimePoint begin = clock_.Now();
  StartAll(io::IoRequest::Kind::kRead);
  // The first takes 10 + 50 ms instead of 1 + 5, the others start after its 10 ms.
  EXPECT_EQ(backend_.NextCompletion() - begin, milliseconds(16));
  clock_.Advance(milliseconds(59));
  EXPECT_EQ(ReapNow().size(), kRequests - 1);
  clock_.Advance(milliseconds(1));
  EXPECT_EQ(ReapNow().size(), 1u);
}

TEST_F(SimBackendTest, AFileClosedOrUnlinkedInFlightIsStillRead) {
  StartAll(io::IoRequest::Kind::kRead);
  EXPECT_EQ(files_.Unlink("/f"), 0);
  EXPECT_EQ(files_.Close(fd_), 0);
  clock_.Advance(milliseconds(100));
  EXPECT_EQ(ReapNow().size(), kRequests);
  EXPECT_EQ(memory_, contents_);
}

TEST_F(SimBackendTest, ABadDescriptorIsAResult) {
  requests_[0].fd = 5;
  backend_.Enqueue(requests_[0]);
  backend_.Submit();
  clock_.Advance(milliseconds(100));
  ASSERT_EQ(ReapNow().size(), 1u);
  EXPECT_EQ(requests_[0].result, -EBADF);
}

}  // namespace
}  // namespace kvstream::test
