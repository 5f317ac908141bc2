#include "io/transfer.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace kvstream::io {
namespace {

// A file whose kernel interrupts, delays and shortens at will. One at a time: TransferCall has
// no state.
struct FakeFile {
  std::vector<std::byte> bytes;
  base::Prng prng{1};
  uint64_t calls = 0;
  uint64_t fault_at = 0;  // the call that `fault` befalls; 0: none
  int64_t fault = 0;      // a negative errno, or the most bytes to move
  bool random = false;    // every call may be short or interrupted
  bool aligned = true;    // short transfers end at a multiple of 4 KiB
};
FakeFile* g_file = nullptr;

int64_t Limit(FakeFile& file, int64_t wanted) {
  ++file.calls;
  if (file.calls == file.fault_at) return std::min(file.fault, wanted);
  if (!file.random) return wanted;
  if (file.prng.Chance(0.2)) return file.prng.Chance(0.5) ? -EINTR : -EAGAIN;
  if (file.prng.Chance(0.3)) return wanted;
  const auto moved = static_cast<int64_t>(1 + file.prng.Below(static_cast<uint64_t>(wanted)));
  return file.aligned && moved > 4096 ? moved / 4096 * 4096 : moved;
}

int64_t FakeTransfer(IoRequest::Kind kind, int /*fd*/, std::span<const iovec> iov,
                     uint64_t offset) {
  FakeFile& file = *g_file;
  int64_t wanted = 0;
  for (const iovec& entry : iov) wanted += static_cast<int64_t>(entry.iov_len);
  if (kind == IoRequest::Kind::kRead) {
    const auto size = static_cast<int64_t>(file.bytes.size());
    wanted = std::clamp<int64_t>(size - static_cast<int64_t>(offset), 0, wanted);
  }
  if (wanted == 0) return 0;
  const int64_t limit = Limit(file, wanted);
  if (limit < 0) return limit;
  int64_t moved = 0;
  for (const iovec& entry : iov) {
    const auto bytes =
        static_cast<size_t>(std::min<int64_t>(static_cast<int64_t>(entry.iov_len), limit - moved));
    std::byte* const stored = file.bytes.data() + offset + moved;
    if (kind == IoRequest::Kind::kRead) {
      std::memcpy(entry.iov_base, stored, bytes);
    } else {
      std::memcpy(stored, entry.iov_base, bytes);
    }
    moved += static_cast<int64_t>(bytes);
  }
  return moved;
}

std::vector<std::byte> Pattern(size_t bytes, uint64_t seed) {
  base::Prng prng(seed);
  std::vector<std::byte> data(bytes);
  for (std::byte& value : data) value = static_cast<std::byte>(prng.Next());
  return data;
}

class TransferTest : public ::testing::Test {
 protected:
  TransferTest() { g_file = &file_; }
  ~TransferTest() override { g_file = nullptr; }

  // Cuts `data` into iovecs of the given lengths, the last one taking the rest.
  IoRequest MakeRequest(IoRequest::Kind kind, std::vector<std::byte>& data,
                        std::vector<size_t> lengths = {}) {
    iov_.clear();
    size_t at = 0;
    for (const size_t length : lengths) {
      iov_.push_back({data.data() + at, length});
      at += length;
    }
    iov_.push_back({data.data() + at, data.size() - at});
    IoRequest request;
    request.kind = kind;
    request.iov = iov_;
    request.bytes = static_cast<uint32_t>(data.size());
    BeginTransfer(request);
    return request;
  }

  FakeFile file_;
  std::vector<iovec> iov_;
};

TEST_F(TransferTest, OneCallMovesAll) {
  file_.bytes = Pattern(65536, 1);
  std::vector<std::byte> data(65536);
  IoRequest request = MakeRequest(IoRequest::Kind::kRead, data, {4096, 8192});
  RunTransfer(request, &FakeTransfer);
  EXPECT_EQ(request.result, 65536);
  EXPECT_EQ(file_.calls, 1u);
  EXPECT_EQ(data, file_.bytes);
}

TEST_F(TransferTest, ContinuesAfterAnyFaultAtAnyCall) {
  const std::array<int64_t, 6> faults = {-EINTR, -EAGAIN, 1, 4096, 5000, 20000};
  for (const IoRequest::Kind kind : {IoRequest::Kind::kRead, IoRequest::Kind::kWrite}) {
    for (const int64_t fault : faults) {
      file_.bytes = Pattern(40960, 2);
      const std::vector<std::byte> before = file_.bytes;
      std::vector<std::byte> data = Pattern(40960, 3);
      const std::vector<std::byte> written = data;
      file_.calls = 0;
      file_.fault_at = 1;
      file_.fault = fault;
      IoRequest request = MakeRequest(kind, data, {4096, 12288, 8192});
      RunTransfer(request, &FakeTransfer);
      EXPECT_EQ(request.result, 40960) << "fault " << fault;
      EXPECT_EQ(file_.calls, 2u) << "fault " << fault;
      EXPECT_EQ(data, kind == IoRequest::Kind::kRead ? before : written) << "fault " << fault;
      EXPECT_EQ(file_.bytes, kind == IoRequest::Kind::kRead ? before : written)
          << "fault " << fault;
    }
  }
}

TEST_F(TransferTest, AnyMixOfShortAndInterruptedCallsMovesTheSameBytes) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    base::Prng prng(seed);
    const size_t bytes = 4096 * (1 + prng.Below(40));
    file_ = FakeFile{};
    file_.prng = base::Prng(seed);
    file_.random = true;
    file_.bytes = Pattern(bytes, seed);
    std::vector<size_t> lengths;
    for (size_t left = bytes; left > 8192 && lengths.size() + 1 < kIovecsMax;) {
      lengths.push_back(4096 * (1 + prng.Below(left / 4096 - 1)));
      left -= lengths.back();
    }
    const IoRequest::Kind kind =
        prng.Chance(0.5) ? IoRequest::Kind::kRead : IoRequest::Kind::kWrite;
    std::vector<std::byte> data = Pattern(bytes, seed + 1000);
    const std::vector<std::byte> expected = kind == IoRequest::Kind::kRead ? file_.bytes : data;
    IoRequest request = MakeRequest(kind, data, lengths);
    RunTransfer(request, &FakeTransfer);
    ASSERT_EQ(request.result, static_cast<int32_t>(bytes));
    ASSERT_EQ(data, expected);
    ASSERT_EQ(file_.bytes, expected);
  }
}

TEST_F(TransferTest, AReadPastTheEndTellsWhereTheFileEnded) {
  for (const size_t size : {size_t{1}, size_t{4095}, size_t{4096}, size_t{10000}, size_t{16383}}) {
    file_.bytes = Pattern(size, 4);
    std::vector<std::byte> data(16384);
    IoRequest request = MakeRequest(IoRequest::Kind::kRead, data, {4096, 4096});
    RunTransfer(request, &FakeTransfer);
    EXPECT_EQ(request.result, static_cast<int32_t>(size));
    EXPECT_TRUE(std::equal(file_.bytes.begin(), file_.bytes.end(), data.begin())) << size;
  }
}

TEST_F(TransferTest, AReadOfNothingReturnsZero) {
  std::vector<std::byte> data(4096);
  IoRequest request = MakeRequest(IoRequest::Kind::kRead, data);
  RunTransfer(request, &FakeTransfer);
  EXPECT_EQ(request.result, 0);
}

TEST_F(TransferTest, AnErrorAfterPartOfTheTransferIsTheResult) {
  file_.bytes = Pattern(16384, 5);
  std::vector<std::byte> data(16384);
  IoRequest request = MakeRequest(IoRequest::Kind::kRead, data);
  EXPECT_FALSE(FinishStep(request, 8192));
  EXPECT_TRUE(FinishStep(request, -EIO));
  EXPECT_EQ(request.result, -EIO);
}

TEST_F(TransferTest, StepsStartAtMultiplesOf4KiB) {
  std::vector<std::byte> data(32768);
  IoRequest request = MakeRequest(IoRequest::Kind::kRead, data, {16384});
  request.offset = 8192;
  ASSERT_FALSE(FinishStep(request, 5000));
  TransferStep step = NextStep(request);
  EXPECT_EQ(step.offset, 8192u + 4096u);
  EXPECT_EQ(step.partial.iov_base, data.data() + 4096);
  EXPECT_EQ(step.partial.iov_len, 12288u);
  ASSERT_FALSE(FinishStep(request, 12288));
  step = NextStep(request);
  EXPECT_EQ(step.partial.iov_len, 0u);
  EXPECT_EQ(step.whole.data(), iov_.data() + 1);
  EXPECT_EQ(step.whole.size(), 1u);
}

TEST_F(TransferTest, GivesUpAfterRetriesWithoutProgress) {
  for (const int error : {EINTR, EAGAIN}) {
    std::vector<std::byte> data(8192);
    IoRequest request = MakeRequest(IoRequest::Kind::kRead, data);
    for (uint32_t attempt = 0; attempt < kTransferRetriesMax; ++attempt) {
      ASSERT_FALSE(FinishStep(request, -error));
    }
    EXPECT_TRUE(FinishStep(request, -error));
    EXPECT_EQ(request.result, -error);
  }
}

TEST_F(TransferTest, ProgressRestartsTheCountOfRetries) {
  std::vector<std::byte> data(8192);
  IoRequest request = MakeRequest(IoRequest::Kind::kRead, data);
  for (uint32_t attempt = 0; attempt < kTransferRetriesMax; ++attempt) {
    ASSERT_FALSE(FinishStep(request, -EINTR));
  }
  ASSERT_FALSE(FinishStep(request, 4096));
  EXPECT_FALSE(FinishStep(request, -EINTR));
}

TEST_F(TransferTest, AWriteThatMovesNothingFailsInTheEnd) {
  std::vector<std::byte> data(8192);
  IoRequest request = MakeRequest(IoRequest::Kind::kWrite, data);
  for (uint32_t attempt = 0; attempt < kTransferRetriesMax; ++attempt) {
    ASSERT_FALSE(FinishStep(request, 0));
  }
  EXPECT_TRUE(FinishStep(request, 0));
  EXPECT_EQ(request.result, -EIO);
}

}  // namespace
}  // namespace kvstream::io
