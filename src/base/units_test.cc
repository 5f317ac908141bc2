#include "base/units.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kvstream::base {
namespace {

using std::chrono::nanoseconds;
using ::testing::HasSubstr;

constexpr uint64_t kKi = 1024;

TEST(UnitsTest, ReadsBytesInEveryUnit) {
  EXPECT_EQ(*ParseBytes("4096"), 4096u);
  EXPECT_EQ(*ParseBytes("0"), 0u);
  EXPECT_EQ(*ParseBytes("7B"), 7u);
  EXPECT_EQ(*ParseBytes("1KB"), 1000u);
  EXPECT_EQ(*ParseBytes("3MB"), 3'000'000u);
  EXPECT_EQ(*ParseBytes("1.5GB"), 1'500'000'000u);
  EXPECT_EQ(*ParseBytes("2TB"), 2'000'000'000'000u);
  EXPECT_EQ(*ParseBytes("1KiB"), kKi);
  EXPECT_EQ(*ParseBytes("600MiB"), 600 * kKi * kKi);
  EXPECT_EQ(*ParseBytes("10GiB"), 10 * kKi * kKi * kKi);
  EXPECT_EQ(*ParseBytes("0.5 TiB"), 512 * kKi * kKi * kKi);
}

TEST(UnitsTest, KeepsEveryBitOfLargeIntegers) {
  EXPECT_EQ(*ParseBytes("18446744073709551615"), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(*ParseBytes("9007199254740993"), 9007199254740993u);
  EXPECT_EQ(*ParseBytes("16777215.5TiB"), (16777216 * kKi - kKi / 2) * kKi * kKi * kKi);
}

TEST(UnitsTest, RefusesWhatIsNotAnAmountOfBytes) {
  for (const char* text : {"",
                           " ",
                           "GiB",
                           "-1",
                           "+1",
                           "1e9",
                           "0x10",
                           "nan",
                           "inf",
                           "1 ",
                           " 1",
                           "1  GiB",
                           "1gib",
                           "1kb",
                           "1K",
                           "1Gi",
                           "1GiB ",
                           "1GiB/s",
                           "1,5GB",
                           "1.",
                           ".5GiB",
                           "1..5GB",
                           "1.5",
                           "1.5B",
                           "1.5.5GB",
                           "18446744073709551616",
                           "16777216TiB",
                           "0.0000001KB",
                           "1 GiB x"}) {
    const auto result = ParseBytes(text);
    ASSERT_FALSE(result.has_value()) << text;
    EXPECT_EQ(result.error().code(), ErrorCode::kInvalidArgument) << text;
    EXPECT_THAT(result.error().message(), HasSubstr(std::string("'") + text + "'"));
    EXPECT_THAT(result.error().message(), HasSubstr("KB MB GB TB KiB MiB GiB TiB"));
  }
}

TEST(UnitsTest, RefusesFractionsTooSmallForADouble) {
  EXPECT_FALSE(ParseBytes("0." + std::string(400, '0') + "1GiB").has_value());
  EXPECT_EQ(*ParseBytes("2." + std::string(400, '0') + "1KiB"), 2048u);
}

TEST(UnitsTest, ReadsBandwidths) {
  EXPECT_EQ(*ParseBandwidth("600MiB/s"), 600 * kKi * kKi);
  EXPECT_EQ(*ParseBandwidth("1.5 GB/s"), 1'500'000'000u);
  EXPECT_EQ(*ParseBandwidth("9B/s"), 9u);
}

TEST(UnitsTest, RefusesBandwidthsWithoutTheirUnit) {
  for (const char* text : {"600", "600MiB", "600/s", "/s", "600MiB/min", "600MiB/s/s", "-1MiB/s"}) {
    const auto result = ParseBandwidth(text);
    ASSERT_FALSE(result.has_value()) << text;
    EXPECT_THAT(result.error().message(), HasSubstr("MiB/s"));
  }
}

TEST(UnitsTest, ReadsDurationsInEveryUnit) {
  EXPECT_EQ(*ParseDuration("0"), nanoseconds(0));
  EXPECT_EQ(*ParseDuration("7ns"), nanoseconds(7));
  EXPECT_EQ(*ParseDuration("1.5us"), nanoseconds(1500));
  EXPECT_EQ(*ParseDuration("20ms"), std::chrono::milliseconds(20));
  EXPECT_EQ(*ParseDuration("2 s"), std::chrono::seconds(2));
  EXPECT_EQ(*ParseDuration("0.5min"), std::chrono::seconds(30));
  EXPECT_EQ(*ParseDuration("2h"), std::chrono::hours(2));
  EXPECT_EQ(*ParseDuration("9223372036854775807ns"), nanoseconds::max());
}

TEST(UnitsTest, RefusesWhatIsNotADuration) {
  for (const char* text : {"", "20", "-1s", "1.5ns", "1m", "1sec", "9223372036854775808ns",
                           "9223372037s", "99999999h", "0.0001us", "1s "}) {
    const auto result = ParseDuration(text);
    ASSERT_FALSE(result.has_value()) << text;
    EXPECT_THAT(result.error().message(), HasSubstr("ns us ms s min h"));
  }
}

TEST(UnitsTest, PrintsThreeDigits) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1024), "1 KiB");
  EXPECT_EQ(FormatBytes(1536), "1.5 KiB");
  EXPECT_EQ(FormatBytes(600 * kKi * kKi), "600 MiB");
  EXPECT_EQ(FormatBytes(kKi * kKi - 1), "1 MiB");
  EXPECT_EQ(FormatBytes(std::numeric_limits<uint64_t>::max()), "16 EiB");
  EXPECT_EQ(FormatBandwidth(629145600.0), "600 MiB/s");
  EXPECT_EQ(FormatBandwidth(0.25), "0.25 B/s");
  EXPECT_EQ(FormatDuration(nanoseconds(0)), "0 ns");
  EXPECT_EQ(FormatDuration(nanoseconds(1500)), "1.5 us");
  EXPECT_EQ(FormatDuration(nanoseconds(999'999)), "1 ms");
  EXPECT_EQ(FormatDuration(std::chrono::milliseconds(20)), "20 ms");
  EXPECT_EQ(FormatDuration(std::chrono::milliseconds(-12'340)), "-12.3 s");
  EXPECT_EQ(FormatDuration(std::chrono::hours(2)), "7200 s");
}

TEST(UnitsTest, ReadsBackWhatItPrints) {
  for (uint64_t bytes = 1; bytes < uint64_t{1} << 44; bytes *= 2) {
    EXPECT_EQ(*ParseBytes(FormatBytes(bytes)), bytes);
  }
}

}  // namespace
}  // namespace kvstream::base
