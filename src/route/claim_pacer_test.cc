#include "route/claim_pacer.h"

#include <deque>

#include <gtest/gtest.h>

namespace kvstream::route {
namespace {

using std::chrono::nanoseconds;

constexpr uint64_t kPlenty = 64 * kGiB;

/// A tier with a fixed latency and bandwidth: requests are served one after the other, then take
/// the latency to arrive.
struct Device {
  double bytes_per_second;
  nanoseconds latency;

  /// Bandwidth over the last quarter of `bytes` read with the pacer's window.
  double Run(ClaimPacer* pacer, uint64_t bytes) const {
    struct Flying {
      uint64_t bytes;
      TimePoint arrives;
    };
    TimePoint now{};
    TimePoint device_free{};
    std::deque<Flying> flying;
    uint64_t done = 0;
    TimePoint measured_from{};
    while (done < bytes) {
      while (const uint64_t piece = pacer->Allowance(kPlenty, 1)) {
        pacer->OnClaim(piece, now);
        device_free =
            std::max(device_free, now) +
            nanoseconds(static_cast<int64_t>(1e9 * static_cast<double>(piece) / bytes_per_second));
        flying.push_back({piece, device_free + latency});
      }
      now = flying.front().arrives;
      pacer->OnDone(flying.front().bytes, true, now);
      if (done < bytes / 4 * 3 && done + flying.front().bytes >= bytes / 4 * 3) measured_from = now;
      done += flying.front().bytes;
      flying.pop_front();
    }
    for (const Flying& rest : flying) pacer->OnDone(rest.bytes, true, now);
    return static_cast<double>(bytes) / 4 /
           std::chrono::duration<double>(now - measured_from).count();
  }
};

TEST(ClaimPacerTest, ReachesTheDevicesBandwidthAtAnyLatencyWithoutASetting) {
  for (const auto latency_us : {100, 1000, 8000}) {
    for (const double gib_per_second : {0.15, 0.6, 2.0, 6.0}) {
      SCOPED_TRACE(testing::Message() << latency_us << " us, " << gib_per_second << " GiB/s");
      const Device device{gib_per_second * static_cast<double>(kGiB),
                          std::chrono::microseconds(latency_us)};
      ClaimPacer pacer({});
      EXPECT_GT(device.Run(&pacer, 8 * kGiB), 0.97 * device.bytes_per_second);
    }
  }
}

TEST(ClaimPacerTest, KeepsTheWindowSmallWhereAlargerOneDeliversNoMore) {
  const Device device{150.0 * static_cast<double>(kMiB), std::chrono::microseconds(100)};
  ClaimPacer pacer({});
  device.Run(&pacer, 2 * kGiB);
  EXPECT_LE(pacer.window_bytes(), 16 * kMiB);
}

TEST(ClaimPacerTest, ShrinksAgainWhenTheLatencyThatNeededALargeWindowIsGone) {
  ClaimPacer pacer({});
  const Device far{2.0 * static_cast<double>(kGiB), std::chrono::microseconds(8000)};
  far.Run(&pacer, 8 * kGiB);
  EXPECT_GE(pacer.window_bytes(), 16 * kMiB);
  const Device near{2.0 * static_cast<double>(kGiB), std::chrono::microseconds(100)};
  near.Run(&pacer, 64 * kGiB);
  EXPECT_LE(pacer.window_bytes(), 16 * kMiB);
}

TEST(ClaimPacerTest, NeverExceedsTheWindowButForOnePieceOnAnIdleTier) {
  ClaimPacer::Options options;
  options.window_bytes_min = kMiB;
  options.window_bytes_max = kMiB;
  ClaimPacer pacer(options);
  const uint64_t piece = pacer.Allowance(kPlenty, 2);
  EXPECT_EQ(piece, kMiB);
  pacer.OnClaim(piece, {});
  EXPECT_EQ(pacer.Allowance(kPlenty, 2), 0u);
}

TEST(ClaimPacerTest, PiecesShrinkToOneBlockNearTheEndOfThePool) {
  ClaimPacer::Options options;
  options.window_bytes_min = 64 * kMiB;
  ClaimPacer pacer(options);
  EXPECT_EQ(pacer.Allowance(kPlenty, 2), 4 * kMiB);
  EXPECT_EQ(pacer.Allowance(3 * kMiB, 2), kMiB);
}

TEST(ClaimPacerTest, WholeChunkClaimsWaitForTheBatch) {
  ClaimPacer::Options options;
  options.chunks = 2;
  ClaimPacer pacer(options);
  EXPECT_GT(pacer.Allowance(kPlenty, 2), kGiB);
  pacer.OnClaim(16 * kMiB, {});
  EXPECT_GT(pacer.Allowance(kPlenty, 2), kGiB);
  pacer.OnClaim(16 * kMiB, {});
  EXPECT_EQ(pacer.Allowance(kPlenty, 2), 0u);
  pacer.OnDone(16 * kMiB, true, {});
  EXPECT_EQ(pacer.Allowance(kPlenty, 2), 0u);
  pacer.OnDone(16 * kMiB, true, {});
  EXPECT_GT(pacer.Allowance(kPlenty, 2), kGiB);
}

TEST(ClaimPacerTest, OfTwoTiersAtMostOneDeclines) {
  const auto rated = [](double mib_per_second, uint64_t in_flight) {
    ClaimPacer pacer({});
    const Device device{mib_per_second * static_cast<double>(kMiB), nanoseconds(0)};
    device.Run(&pacer, 256 * kMiB);
    while (pacer.in_flight_bytes() > 0) pacer.OnDone(kMiB, false, TimePoint::max());
    if (in_flight > 0) pacer.OnClaim(in_flight, TimePoint::max());
    return pacer;
  };
  for (const double slow : {1.0, 100.0, 590.0}) {
    for (const uint64_t slow_flight : {uint64_t{0}, kMiB, 4 * kMiB}) {
      for (const uint64_t left : {kMiB, 8 * kMiB, 512 * kMiB}) {
        const ClaimPacer a = rated(600, 4 * kMiB);
        const ClaimPacer b = rated(slow, slow_flight);
        EXPECT_FALSE(Declines(a, kMiB, b, left) && Declines(b, kMiB, a, left));
      }
    }
  }
  EXPECT_TRUE(Declines(rated(1, 0), kMiB, rated(600, 0), 8 * kMiB));
}

}  // namespace
}  // namespace kvstream::route
