#include "io/shaped_backend.h"

#include <fcntl.h>

#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "testing/sim_io.h"

namespace kvstream::io {
namespace {

using std::chrono::duration;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr size_t kRequestBytes = size_t{1} << 20;

// A shaped backend over a simulated device that is much faster than the limits.
class ShapedBackendTest : public ::testing::Test {
 protected:
  ShapedBackendTest() {
    device_.bytes_per_second = 100 * kGiB;
    device_.latency = microseconds(10);
    fd_ = files_.Open("/data", O_RDWR | O_CREAT);
  }

  void Make(const ShapeOptions& shape) {
    auto inner = std::make_unique<test::SimBackend>(files_, device_, clock_);
    inner_ = inner.get();
    backend_ = std::make_unique<ShapedBackend>(std::move(inner), shape, clock_);
  }

  IoRequest& Start(IoRequest::Kind kind) {
    auto& request = *requests_.emplace_back(std::make_unique<IoRequest>());
    request.kind = kind;
    request.fd = fd_;
    request.iov = {&entry_, 1};
    request.bytes = kRequestBytes;
    backend_->Enqueue(request);
    return request;
  }

  // Keeps `in_flight` requests going in steps of `tick` for `length`; returns the bytes that
  // came back.
  uint64_t Run(IoRequest::Kind kind, size_t in_flight, nanoseconds tick, nanoseconds length) {
    const TimePoint end = clock_.Now() + length;
    uint64_t bytes = 0;
    while (clock_.Now() < end) {
      while (backend_->in_flight() < in_flight) Start(kind);
      backend_->Submit();
      clock_.Advance(tick);
      std::array<IoRequest*, 64> out;
      bytes += backend_->Reap(out, nanoseconds(0)) * kRequestBytes;
      // The simulated device finished some only now; what is due of them comes at once.
      bytes += backend_->Reap(out, nanoseconds(0)) * kRequestBytes;
    }
    return bytes;
  }

  // Bytes a second, once the credit of the idle time before is used up.
  double RateAfterWarmUp(IoRequest::Kind kind, size_t in_flight, nanoseconds tick) {
    Run(kind, in_flight, tick, milliseconds(20));
    return static_cast<double>(Run(kind, in_flight, tick, std::chrono::seconds(1)));
  }

  test::SimClock clock_;
  test::SimFileSystem files_;
  test::SimDevice device_;
  int fd_ = -1;
  std::vector<std::byte> memory_ = std::vector<std::byte>(kRequestBytes);
  iovec entry_{memory_.data(), kRequestBytes};
  std::vector<std::unique_ptr<IoRequest>> requests_;
  test::SimBackend* inner_ = nullptr;
  std::unique_ptr<ShapedBackend> backend_;
};

TEST_F(ShapedBackendTest, ContinuousLoadRunsAtTheLimit) {
  const ShapeOptions shape{600 * kMiB, 600 * kMiB, nanoseconds(0)};
  for (const IoRequest::Kind kind : {IoRequest::Kind::kRead, IoRequest::Kind::kWrite}) {
    Make(shape);
    EXPECT_NEAR(RateAfterWarmUp(kind, 4, microseconds(100)) / (600.0 * kMiB), 1.0, 0.01);
    backend_.reset();  // with what is still in flight
  }
}

TEST_F(ShapedBackendTest, NeitherLimitNorDepthNorLateWakingChangesTheRate) {
  for (const uint64_t mib : {150u, 600u, 3000u}) {
    for (const size_t in_flight : {2u, 4u, 32u}) {
      for (const nanoseconds tick : {microseconds(50), microseconds(300)}) {
        SCOPED_TRACE(::testing::Message() << mib << " MiB/s, " << in_flight << " in flight, tick "
                                          << tick.count() << " ns");
        Make({mib * kMiB, 0, nanoseconds(0)});
        const double rate = RateAfterWarmUp(IoRequest::Kind::kRead, in_flight, tick);
        EXPECT_NEAR(rate / static_cast<double>(mib * kMiB), 1.0, 0.01);
        backend_.reset();
      }
    }
  }
}

TEST_F(ShapedBackendTest, IdleTimeGivesNoMoreThan2MiBOfCredit) {
  for (const uint64_t mib : {100u, 1000u, 5000u}) {
    Make({mib * kMiB, 0, nanoseconds(0)});
    clock_.Advance(std::chrono::hours(1));
    // More than the limit for the shortest time in which the device can answer.
    for (size_t index = 0; index < 16; ++index) Start(IoRequest::Kind::kRead);
    backend_->Submit();
    clock_.Advance(milliseconds(1));
    std::array<IoRequest*, 64> out;
    static_cast<void>(backend_->Reap(out, nanoseconds(0)));
    const size_t got = backend_->Reap(out, nanoseconds(0));
    const double allowed = 2.0 + static_cast<double>(mib) / 1000.0;
    EXPECT_LE(static_cast<double>(got), allowed) << mib << " MiB/s";
    backend_.reset();
  }
}

TEST_F(ShapedBackendTest, OneRequestTakesItsServiceTimeAndTheLatency) {
  Make({100 * kMiB, 0, milliseconds(5)});
  clock_.Advance(std::chrono::seconds(1));
  const TimePoint begin = clock_.Now();
  IoRequest& request = Start(IoRequest::Kind::kRead);
  std::array<IoRequest*, 4> out;
  size_t count = 0;
  while ((count = backend_->Reap(out, nanoseconds(0))) == 0) clock_.Advance(microseconds(10));
  EXPECT_EQ(out[0], &request);
  // 10 ms of service, 2 ms of them from the credit, then 5 ms.
  const double ms = duration<double, std::milli>(clock_.Now() - begin).count();
  EXPECT_NEAR(ms, 13.0, 0.02);
}

TEST_F(ShapedBackendTest, ReadsAndWritesHaveTheirOwnLimits) {
  Make({100 * kMiB, 400 * kMiB, nanoseconds(0)});
  std::array<size_t, 2> back{};
  const TimePoint end = clock_.Now() + std::chrono::seconds(1);
  std::array<size_t, 2> open{};
  while (clock_.Now() < end) {
    for (; open[0] < 4; ++open[0]) Start(IoRequest::Kind::kRead);
    for (; open[1] < 4; ++open[1]) Start(IoRequest::Kind::kWrite);
    backend_->Submit();
    clock_.Advance(microseconds(100));
    std::array<IoRequest*, 8> out;
    const size_t count = backend_->Reap(out, nanoseconds(0));
    for (size_t index = 0; index < count; ++index) {
      const size_t kind = out[index]->kind == IoRequest::Kind::kRead ? 0 : 1;
      ++back[kind];
      --open[kind];
    }
  }
  EXPECT_NEAR(static_cast<double>(back[0]), 100.0, 2.0);
  EXPECT_NEAR(static_cast<double>(back[1]), 400.0, 4.0);
}

TEST_F(ShapedBackendTest, ASlowerDeviceIsNotSlowedFurther) {
  device_.bytes_per_second = 100 * kMiB;
  Make({500 * kMiB, 0, nanoseconds(0)});
  Run(IoRequest::Kind::kRead, 4, microseconds(100), milliseconds(50));
  const uint64_t bytes = Run(IoRequest::Kind::kRead, 4, microseconds(100), std::chrono::seconds(1));
  EXPECT_NEAR(static_cast<double>(bytes / kMiB), 100.0, 1.0);
}

TEST_F(ShapedBackendTest, WithoutALimitOnlyTheDeviceDecides) {
  Make({0, 0, nanoseconds(0)});
  Start(IoRequest::Kind::kRead);
  backend_->Submit();
  clock_.AdvanceTo(inner_->NextCompletion());
  std::array<IoRequest*, 4> out;
  size_t count = backend_->Reap(out, nanoseconds(0));
  EXPECT_EQ(count, 1u);
}

TEST_F(ShapedBackendTest, EveryRequestComesBackOnceWithItsResult) {
  constexpr uint64_t kSeed = 11;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  Make({700 * kMiB, 300 * kMiB, milliseconds(2)});
  base::Prng prng(kSeed);
  size_t started = 0;
  size_t back = 0;
  while (back < 300) {
    while (started < 300 && backend_->in_flight() < backend_->depth() && prng.Chance(0.7)) {
      IoRequest& request =
          Start(prng.Chance(0.5) ? IoRequest::Kind::kRead : IoRequest::Kind::kWrite);
      if (prng.Chance(0.1)) request.fd = -1;
      request.result = -1;
      ++started;
    }
    clock_.Advance(microseconds(prng.Below(3000)));
    std::array<IoRequest*, 3> out;
    const size_t count = backend_->Reap(std::span(out).first(1 + prng.Below(3)), nanoseconds(0));
    for (size_t index = 0; index < count; ++index) {
      ASSERT_EQ(out[index]->context, nullptr) << "came back twice";
      out[index]->context = this;
      ASSERT_EQ(out[index]->result == -EBADF, out[index]->fd < 0);
    }
    back += count;
    ASSERT_EQ(backend_->in_flight(), started - back);
  }
}

}  // namespace
}  // namespace kvstream::io
