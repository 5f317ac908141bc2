#include "kvsim/bandwidth_file.h"

#include <gtest/gtest.h>

namespace kvstream::kvsim {
namespace {

constexpr std::string_view kText =
    "t,tier,read_GBps,write_GBps\r\n0,nvme,7,4\n0,pfs,6,3\n\n10.5,nvme,3.5,2\n";

TEST(BandwidthFileTest, TakesTheRowsOfOneTier) {
  const auto shape = ParseBandwidthFile("b.csv", kText, "nvme");
  ASSERT_TRUE(shape) << shape.error().message();
  ASSERT_EQ(shape->points.size(), 2u);
  EXPECT_EQ(shape->points[1].at_s, 10.5);
  EXPECT_EQ(shape->points[1].bandwidth.read, 3.5e9);
  EXPECT_EQ(shape->points[1].bandwidth.write, 2e9);
}

TEST(BandwidthFileTest, MistakesHaveFileAndLine) {
  const auto message = [](std::string_view rows) {
    const auto shape = ParseBandwidthFile("b.csv", rows, "nvme");
    return shape ? std::string("accepted") : shape.error().message();
  };
  const std::string header = "t,tier,read_GBps,write_GBps\n";
  EXPECT_EQ(message("").find("b.csv:1: no row of tier nvme"), 0u);
  EXPECT_EQ(message("t,tier\n").find("b.csv:1: expected the header"), 0u);
  EXPECT_EQ(message(header + "0,nvme,7\n"), "b.csv:2: expected four columns");
  EXPECT_EQ(message(header + "0,nvme,7,4,1\n"), "b.csv:2: expected four columns");
  EXPECT_EQ(message(header + "0,nvme,fast,4\n"), "b.csv:2: 'fast' is not a number");
  EXPECT_EQ(message(header + "0,nvme,1e999,4\n"), "b.csv:2: '1e999' is not a number");
  EXPECT_EQ(message(header + "-1,nvme,7,4\n").find("b.csv:2: times and bandwidths"), 0u);
  EXPECT_EQ(message(header + "1,nvme,7,4\n1,nvme,7,4\n"), "b.csv:3: times of a tier must ascend");
}

}  // namespace
}  // namespace kvstream::kvsim
