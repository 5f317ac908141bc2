#include "kvsim/device_file.h"

#include <variant>

#include <gtest/gtest.h>

namespace kvstream::kvsim {
namespace {

std::string MessageOf(std::string_view text) {
  const auto device = ParseDevice("d.toml", text);
  if (!device) return device.error().message();
  for (const TierSpec& spec : device->tiers) {
    const auto tier = BuildTier(spec);
    if (!tier) return tier.error().message();
  }
  return "accepted";
}

TEST(DeviceFileTest, EveryShippedDeviceIsValidAndHasALink) {
  ASSERT_GE(ShippedDevices().size(), 5u);
  for (const ShippedDevice& shipped : ShippedDevices()) {
    const auto device = LoadDevice(std::string(shipped.name));
    ASSERT_TRUE(device) << device.error().message();
    EXPECT_TRUE(device->gpu_link) << shipped.name;
    EXPECT_FALSE(device->description.empty()) << shipped.name;
    EXPECT_EQ(device->tiers.size(), 2u) << shipped.name;
    EXPECT_EQ(MessageOf(shipped.text), "accepted") << shipped.name;
  }
}

TEST(DeviceFileTest, TestbedOneHasTheBandwidthsOfThePaper) {
  const auto device = LoadDevice("testbed1");
  ASSERT_TRUE(device);
  EXPECT_EQ(device->gpu_link, 13.75e9);
  const auto nvme = BuildTier(device->tiers[0]);
  const auto pfs = BuildTier(device->tiers[1]);
  ASSERT_TRUE(nvme && pfs);
  EXPECT_EQ(nvme->name, "nvme");
  EXPECT_EQ(nvme->series.base.read, 13.7e9);
  EXPECT_EQ(nvme->series.base.write, 4.6e9);
  EXPECT_EQ(nvme->capacity_bytes, 3'200'000'000'000u);
  EXPECT_EQ(nvme->interference, 0.06);
  EXPECT_FALSE(nvme->shared);
  EXPECT_EQ(pfs->series.base.write, 7.1e9);
  EXPECT_TRUE(pfs->shared);
}

TEST(DeviceFileTest, TablesOfATierDescribeLatencyAndLoad) {
  const auto device = ParseDevice("d.toml",
                                  "[[tier]]\nname = 'a'\nread = '1GB/s'\n"
                                  "latency = { median = '2ms', sigma = 0.5, tail_probability = "
                                  "0.01, tail_factor = 9 }\n"
                                  "load = { shape = 'square', period = '8s', duty = 0.25, factor = "
                                  "0.1 }\n");
  ASSERT_TRUE(device) << device.error().message();
  const auto tier = BuildTier(device->tiers[0]);
  ASSERT_TRUE(tier) << tier.error().message();
  EXPECT_EQ(tier->series.base.write, 1e9) << "as for reads, if not given";
  EXPECT_EQ(tier->latency.median_s, 0.002);
  EXPECT_EQ(tier->latency.tail_factor, 9);
  const auto* wave = std::get_if<sim::SquareWaveShape>(&tier->series.shape);
  ASSERT_NE(wave, nullptr);
  EXPECT_EQ(wave->period_s, 8);
  EXPECT_EQ(wave->duty, 0.25);
  EXPECT_EQ(wave->low_factor, 0.1);
}

TEST(DeviceFileTest, EveryMistakeIsNamedWithFileAndLine) {
  EXPECT_EQ(MessageOf("[[tier]]\nname='a'\nread='1GB/s'\nraed='1GB/s'\n").find("d.toml:4: raed: "),
            0u);
  EXPECT_EQ(MessageOf("gpu_lnk='1GB/s'\n[[tier]]\nname='a'\nread='1GB/s'\n")
                .find("d.toml:1: gpu_lnk: unknown key"),
            0u);
  EXPECT_EQ(MessageOf("[[tier]]\nname='a'\nread='fast'\n").find("d.toml:3: read: 'fast'"), 0u);
  EXPECT_EQ(MessageOf("[[tier]]\nname='a'\n"), "d.toml:1: tier a: no read bandwidth");
  EXPECT_EQ(MessageOf("[[tier]]\nread='1GB/s'\n"), "d.toml:1: a tier without a name");
  EXPECT_EQ(MessageOf("description='x'\n"), "d.toml: no [[tier]]");
  EXPECT_EQ(MessageOf("tier = 3\n").find("d.toml:1: tier: expected tables"), 0u);
  EXPECT_EQ(MessageOf("[[tier]\n").find("d.toml:1: "), 0u);
  EXPECT_EQ(MessageOf("[[tier]]\nname='a'\nread='1GB/s'\ntotal_read='2GB/s'\n"),
            "d.toml:4: total_read: needs shared = true");
  EXPECT_EQ(MessageOf("[[tier]]\nname='a'\nread='1GB/s'\nload={shape='sine'}\n")
                .find("d.toml:4: load.shape: 'sine' is none of"),
            0u);
  EXPECT_EQ(MessageOf("[[tier]]\nname='a'\nread='1GB/s'\nload={shape='square',on='1s'}\n")
                .find("d.toml:4: load.on: unknown key; known: "),
            0u);
  EXPECT_EQ(MessageOf("[[tier]]\nname='a'\nread='1GB/s'\nload={shape='csv',file='none.csv'}\n")
                .find("open none.csv"),
            0u);
  EXPECT_EQ(MessageOf("[[tier]]\nname='a'\nread='1GB/s'\ninterference=-1\n").find("d.toml:1: "),
            0u);
}

TEST(DeviceFileTest, AMissingFileNamesTheShippedDevices) {
  const auto device = LoadDevice("testbed9");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code(), ErrorCode::kNotFound);
  EXPECT_NE(device.error().message().find("testbed1, testbed2"), std::string::npos);
}

}  // namespace
}  // namespace kvstream::kvsim
