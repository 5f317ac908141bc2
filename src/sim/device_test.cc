#include "sim/device.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "kvstream/options.h"

namespace kvstream::sim {
namespace {

constexpr double kGb = 1e9;

TierModel Tier(double read_gb, double write_gb) {
  TierModel tier;
  tier.name = "t";
  tier.series.base = {.read = read_gb * kGb, .write = write_gb * kGb};
  return tier;
}

/// Keeps `window` transfers under way on a lane until `bytes` have been moved.
class Stream {
 public:
  struct Plan {
    uint32_t node = 0;
    Direction direction = Direction::kRead;
    uint64_t bytes = 0;
    uint64_t piece_bytes = 4'000'000;
    uint32_t window = 4;
  };
  Stream(const Plan& plan, Device& device, EventQueue& queue)
      : plan_(plan), left_(plan.bytes), device_(device), queue_(queue) {
    for (uint32_t i = 0; i < plan.window; ++i) {
      transfers_.push_back(std::make_unique<Device::Transfer>(&OnDone, this));
      Next(*transfers_.back());
    }
  }
  double seconds() const { return ended_s_; }

 private:
  static void OnDone(void* context, Device::Transfer& transfer) {
    auto* self = static_cast<Stream*>(context);
    self->ended_s_ = self->queue_.now_s();
    self->Next(transfer);
  }
  void Next(Device::Transfer& transfer) {
    const uint64_t bytes = std::min(left_, plan_.piece_bytes);
    if (bytes == 0) return;
    left_ -= bytes;
    device_.Submit(plan_.node, plan_.direction, bytes, transfer);
  }

  Plan plan_;
  uint64_t left_;
  Device& device_;
  EventQueue& queue_;
  std::vector<std::unique_ptr<Device::Transfer>> transfers_;
  double ended_s_ = 0;
};

double RunAll(EventQueue& queue) {
  while (queue.RunNext()) {
  }
  return queue.now_s();
}

double SecondsFor(const TierModel& tier, const Device::Options& options,
                  std::vector<Stream::Plan> plans) {
  EventQueue queue;
  Device device(tier, options, queue);
  std::vector<std::unique_ptr<Stream>> streams;
  for (const Stream::Plan& plan : plans) {
    streams.push_back(std::make_unique<Stream>(plan, device, queue));
  }
  return RunAll(queue);
}

TEST(DeviceTest, ServesBytesAtItsBandwidth) {
  EXPECT_NEAR(SecondsFor(Tier(2, 1), {}, {{.bytes = 6'000'000'000}}), 3, 1e-5);
  EXPECT_NEAR(
      SecondsFor(Tier(2, 1), {}, {{.direction = Direction::kWrite, .bytes = 3'000'000'000}}), 3,
      1e-5);
}

TEST(DeviceTest, GivesEachOfFourRanksAFourth) {
  EXPECT_NEAR(SecondsFor(Tier(2, 1), {.ranks = 4}, {{.bytes = 1'000'000'000}}), 2, 1e-5);
}

/// Fig 7: 1,024 GB, reading, writing, and half of each at the same time.
struct Fig7Row {
  const char* device;
  double read_s;
  double write_s;
  double mixed_s;
  double interference;  // datasets.md, section 1
};

TEST(DeviceTest, MixedReadsAndWritesTakeAsLongAsFig7Says) {
  for (const Fig7Row& row : {Fig7Row{"Testbed-1 NVMe", 75, 224, 158, 0.06},
                             Fig7Row{"Testbed-2 NVMe", 88, 203, 185, 0.27},
                             Fig7Row{"Testbed-2 Lustre", 285, 371, 328, 0}}) {
    TierModel tier = Tier(1024 / row.read_s, 1024 / row.write_s);
    tier.interference = row.interference;
    const uint64_t half = 512'000'000'000;
    const double mixed =
        SecondsFor(tier, {},
                   {{.bytes = half, .piece_bytes = 16'000'000},
                    {.direction = Direction::kWrite, .bytes = half, .piece_bytes = 16'000'000}});
    EXPECT_NEAR(mixed / row.mixed_s, 1, 0.01) << row.device << ": " << mixed << " s";
    EXPECT_NEAR(mixed, (1 + row.interference) * (row.read_s + row.write_s) / 2, 0.01);
  }
}

TEST(DeviceTest, ASharedDeviceGivesANodeItsCapOrAnEqualPartOfTheTotal) {
  TierModel tier = Tier(3, 3);
  tier.shared = true;
  tier.total = {.read = 10 * kGb, .write = 10 * kGb};
  for (const uint32_t nodes : {1u, 3u, 4u, 8u, 64u}) {
    std::vector<Stream::Plan> plans;
    for (uint32_t node = 0; node < nodes; ++node) {
      plans.push_back({.node = node, .bytes = 1'000'000'000});
    }
    const double expected = 1 / std::min(3.0, 10.0 / nodes);
    EXPECT_NEAR(SecondsFor(tier, {.nodes = nodes}, plans) / expected, 1, 1e-4) << nodes << " nodes";
  }
}

TEST(DeviceTest, ANodeThatIsDoneLeavesItsPartToTheOthers) {
  TierModel tier = Tier(10, 10);
  tier.shared = true;
  tier.total = {.read = 10 * kGb, .write = 10 * kGb};
  // 5 + 5 GB/s for 0.2 s, then 10 GB/s for the other 2 GB.
  EXPECT_NEAR(
      SecondsFor(tier, {.nodes = 2},
                 {{.node = 0, .bytes = 1'000'000'000}, {.node = 1, .bytes = 3'000'000'000}}),
      0.4, 1e-5);
}

TEST(DeviceTest, EnoughTransfersUnderWayHideTheLatency) {
  TierModel tier = Tier(2, 1);
  tier.latency.median_s = 0.004;
  const auto seconds = [&](uint32_t window) {
    return SecondsFor(tier, {}, {{.bytes = 2'000'000'000, .window = window}});
  };
  EXPECT_NEAR(seconds(1), 500 * (0.004 + 0.002), 1e-3);  // 500 pieces of 2 ms, one by one
  EXPECT_NEAR(seconds(8), 1.004, 0.003);
}

TEST(DeviceTest, TheTailOfTheLatencyIsAsHeavyAsStated) {
  TierModel tier = Tier(1000, 1000);
  tier.latency = {.median_s = 0.001, .sigma = 0.5, .tail_probability = 0.02, .tail_factor = 30};
  EventQueue queue;
  constexpr uint32_t kTransfers = 20'000;
  const double seconds =
      SecondsFor(tier, {.seed = 7}, {{.bytes = kTransfers, .piece_bytes = 1, .window = 1}});
  const double mean = 0.001 * std::exp(0.125) * (0.98 + 0.02 * 30);
  EXPECT_NEAR(seconds / kTransfers / mean, 1, 0.05);
}

TEST(DeviceTest, FollowsItsSeriesAlsoAfterBeingIdle) {
  TierModel tier = Tier(2, 2);
  tier.series.shape = SquareWaveShape{.period_s = 2, .duty = 0.5, .low_factor = 0.5};
  // 2 GB in the first second, 1 GB in the next, 2 GB in the third.
  EXPECT_NEAR(SecondsFor(tier, {}, {{.bytes = 5'000'000'000}}), 3, 1e-4);
  EventQueue queue;
  Device device(tier, {}, queue);
  queue.RunUntil(TimePoint(std::chrono::milliseconds(5500)));
  EXPECT_EQ(queue.events_run(), 0u);
  EXPECT_DOUBLE_EQ(device.rank_bandwidth().read, 1 * kGb);
  Stream stream({.bytes = 1'500'000'000}, device, queue);
  RunAll(queue);
  EXPECT_NEAR(stream.seconds(), 6.5, 1e-4);
}

TEST(DeviceTest, WaitsThroughAnOutage) {
  TierModel tier = Tier(1, 1);
  tier.series.shape = PointsShape{{{0, {1 * kGb, 1 * kGb}}, {1, {0, 0}}, {4, {1 * kGb, 1 * kGb}}}};
  EXPECT_NEAR(SecondsFor(tier, {}, {{.bytes = 2'000'000'000}}), 5, 1e-4);
}

TEST(DeviceTest, SetBandwidthTakesEffectInTheMiddleOfATransfer) {
  const TierModel tier = Tier(1, 1);
  EventQueue queue;
  Device device(tier, {}, queue);
  Stream stream({.bytes = 2'000'000'000, .piece_bytes = 2'000'000'000}, device, queue);
  queue.RunUntil(TimePoint(std::chrono::seconds(1)));
  device.SetBandwidth({.read = 4 * kGb, .write = 1 * kGb});
  EXPECT_NEAR(RunAll(queue), 1.25, 1e-6);
}

TEST(DeviceTest, RefusesTiersThatMakeNoSense) {
  const auto refused = [](auto change) {
    TierModel tier = Tier(1, 1);
    change(tier);
    const Status status = Validate(tier);
    return !status && status.error().code() == ErrorCode::kInvalidArgument;
  };
  EXPECT_TRUE(Validate(Tier(1, 1)));
  EXPECT_TRUE(refused([](TierModel& tier) { tier.name.clear(); }));
  EXPECT_TRUE(refused([](TierModel& tier) { tier.series.base.read = 0; }));
  EXPECT_TRUE(refused([](TierModel& tier) { tier.capacity_bytes = 0; }));
  EXPECT_TRUE(refused([](TierModel& tier) { tier.interference = -1; }));
  EXPECT_TRUE(refused([](TierModel& tier) { tier.latency.median_s = -1; }));
  EXPECT_TRUE(refused([](TierModel& tier) { tier.latency.tail_factor = 0.5; }));
  EXPECT_TRUE(refused([](TierModel& tier) { tier.total.read = 0; }));
  EXPECT_TRUE(refused([](TierModel& tier) { tier.series.shape = PointsShape{}; }));
}

}  // namespace
}  // namespace kvstream::sim
