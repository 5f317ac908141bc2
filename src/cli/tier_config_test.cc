#include "cli/tier_config.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace kvstream::cli {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class TierConfigTest : public ::testing::Test {
 protected:
  TierConfigTest() {
    std::string name = (fs::temp_directory_path() / "kvs_tier_config_XXXXXX").string();
    root_ = mkdtemp(name.data());
    fs::create_directories(root_ / "a" / "inner");
    fs::create_directories(root_ / "b");
  }
  ~TierConfigTest() override { fs::remove_all(root_); }

  TierArg Tier(const std::string& name, const fs::path& directory, uint64_t capacity = kGiB) const {
    TierArg tier;
    tier.options.name = name;
    tier.options.directory = directory;
    tier.options.capacity_bytes = capacity;
    tier.origin = "--tier " + name;
    return tier;
  }

  static void ExpectRefused(const Status& status, const std::string& part) {
    ASSERT_FALSE(status.has_value()) << "expected: " << part;
    EXPECT_NE(status.error().message().find(part), std::string::npos) << status.error().message();
  }

  fs::path root_;
};

TEST_F(TierConfigTest, ReadsEveryKeyOfATierFlag) {
  const auto tier = ParseTierFlag(
      "nvme=/mnt/a,capacity=10GiB,limit=600MiB/s,write-limit=300MiB/s,latency=1ms,landing=bounce,"
      "backend=threads,window=8MiB,shared");
  ASSERT_TRUE(tier.has_value()) << tier.error().message();
  EXPECT_EQ(tier->origin, "--tier nvme");
  EXPECT_EQ(tier->options.name, "nvme");
  EXPECT_EQ(tier->options.directory, "/mnt/a");
  EXPECT_EQ(tier->options.capacity_bytes, 10 * kGiB);
  EXPECT_EQ(tier->options.shape.read_bytes_per_second, 600 * kMiB);
  EXPECT_EQ(tier->options.shape.write_bytes_per_second, 300 * kMiB);
  EXPECT_EQ(tier->options.shape.latency, milliseconds(1));
  EXPECT_EQ(tier->options.landing, Landing::kBounce);
  EXPECT_EQ(tier->options.backend, BackendKind::kThreads);
  EXPECT_EQ(tier->options.window_bytes_max, 8 * kMiB);
  EXPECT_TRUE(tier->options.shared);
}

TEST_F(TierConfigTest, RefusesAMalformedTierFlagAndNamesIt) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "NAME=DIR"},
      {"nvme", "NAME=DIR"},
      {"=/a", "NAME=DIR"},
      {"nvme=", "NAME=DIR"},
      {"nvme=/a,capcity=1GiB", "--tier nvme: capcity: unknown key; known: capacity, limit"},
      {"nvme=/a,capacity=lots", "--tier nvme: capacity:"},
      {"nvme=/a,capacity=0", "above 0"},
      {"nvme=/a,limit=600MiB", "--tier nvme: limit:"},
      {"nvme=/a,landing=sideways", "none of auto, direct, bounce"},
      {"nvme=/a,backend=aio", "none of auto, uring, threads"},
      {"nvme=/a,shared=perhaps", "none of true, false"},
      {"nvme=/a,", "unknown key"},
  };
  for (const auto& [text, part] : cases) {
    const auto tier = ParseTierFlag(text);
    ASSERT_FALSE(tier.has_value()) << text;
    EXPECT_EQ(tier.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(tier.error().message().find(part), std::string::npos) << tier.error().message();
  }
}

TEST_F(TierConfigTest, ReadsAConfigFile) {
  EngineArgs args;
  const auto status = ParseConfig("tiers.toml", R"(
[[tier]]
name = "nvme"
dir = "/mnt/a"
capacity = "1GiB"
shared = true

[[tier]]
name = "pfs"
dir = "/mnt/b"
capacity = 1073741824

[engine]
owner = "node1"
stage = "64MiB"
high-water = 0.5
age = "3s"
idle-delay = "5ms"
stage-full = "wait"
write-window = "4MiB"
verify = "off"
bounce = "32MiB"
read-order = "pool"
deadline = "2s"
hang-after = "1s"
)",
                                  &args);
  ASSERT_TRUE(status.has_value()) << status.error().message();
  ASSERT_EQ(args.tiers.size(), 2u);
  EXPECT_EQ(args.tiers[0].origin, "tiers.toml:2");
  EXPECT_TRUE(args.tiers[0].options.shared);
  EXPECT_EQ(args.tiers[1].options.capacity_bytes, kGiB);
  EXPECT_EQ(args.deadline, std::chrono::seconds(2));

  const EngineOptions options = MakeEngineOptions(args);
  EXPECT_EQ(options.tiers.size(), 2u);
  EXPECT_EQ(options.owner, "node1");
  EXPECT_EQ(options.write.stage_bytes, 64 * kMiB);
  EXPECT_EQ(options.write.high_water, 0.5);
  EXPECT_EQ(options.write.age_max, std::chrono::seconds(3));
  EXPECT_EQ(options.write.idle_delay, milliseconds(5));
  EXPECT_EQ(options.write.full, StageFull::kWait);
  EXPECT_EQ(options.write.window_bytes, 4 * kMiB);
  EXPECT_EQ(options.verify, Verify::kOff);
  EXPECT_EQ(options.bounce_bytes, 32 * kMiB);
  EXPECT_EQ(options.routing.order, PoolOrder::kPool);
  EXPECT_EQ(options.hang_after, std::chrono::seconds(1));
}

TEST_F(TierConfigTest, NamesFileAndLineOfEveryMistake) {
  const std::pair<const char*, const char*> cases[] = {
      {"\n[[tier]]\nname = \"a\"\ncapcity = \"1GiB\"\n", "t.toml:4: capcity: unknown key"},
      {"[[tier]]\ncapacity = [1, 2]\n", "t.toml:2: capacity: expected a string, a number"},
      {"[[tier]]\nshared = 1\n", "t.toml:2: shared: \"1\" is none of true, false"},
      {"tier = 3\n", "t.toml:1: tier: expected [[tier]]"},
      {"tier = [1]\n", "t.toml:1: tier: expected a table"},
      {"engine = 3\n", "t.toml:1: engine: expected a table"},
      {"[engine]\nstge = \"1GiB\"\n", "t.toml:2: stge: unknown key; known: owner, stage"},
      {"[engine]\nhigh-water = 2.0\n", "t.toml:2: high-water:"},
      {"\n[motor]\n", "t.toml:2: motor: unknown key; known: tier, engine"},
      {"[engine\n", "t.toml:1:"},
  };
  for (const auto& [text, part] : cases) {
    EngineArgs args;
    ExpectRefused(ParseConfig("t.toml", text, &args), part);
  }
}

TEST_F(TierConfigTest, ReportsAConfigFileThatCannotBeRead) {
  EngineArgs args;
  ExpectRefused(ReadConfigFile((root_ / "absent.toml").string(), &args), "No such file");
  ExpectRefused(ReadConfigFile(root_.string(), &args), "Is a directory");
}

TEST_F(TierConfigTest, WriteLimitFollowsLimitUnlessGiven) {
  EngineArgs args;
  args.tiers.push_back(*ParseTierFlag("a=/a,capacity=1GiB,limit=600MiB/s"));
  args.tiers.push_back(*ParseTierFlag("b=/b,capacity=1GiB,limit=600MiB/s,write-limit=1MiB/s"));
  const EngineOptions options = MakeEngineOptions(args);
  EXPECT_EQ(options.tiers[0].shape.write_bytes_per_second, 600 * kMiB);
  EXPECT_EQ(options.tiers[1].shape.write_bytes_per_second, kMiB);
}

TEST_F(TierConfigTest, AcceptsTwoGoodTiers) {
  const TierArg tiers[] = {Tier("x", root_ / "a"), Tier("y", root_ / "b")};
  EXPECT_TRUE(CheckTiers(tiers, kMiB).has_value());
}

TEST_F(TierConfigTest, RefusesTiersThatCannotWork) {
  const auto check = [](std::vector<TierArg> tiers) { return CheckTiers(tiers, kMiB); };
  ExpectRefused(check({}), "no tier given");
  ExpectRefused(check(std::vector<TierArg>(kTiersMax + 1)), "at most 8");
  ExpectRefused(check({Tier("", root_ / "a")}), "no name");
  ExpectRefused(check({Tier("x", "")}), "no directory");
  ExpectRefused(check({Tier("x", root_ / "a", 0)}), "capacity=SIZE");
  ExpectRefused(check({Tier("x", root_ / "c")}), "--tier x: no directory");
  std::ofstream(root_ / "file").put('x');
  ExpectRefused(check({Tier("x", root_ / "file")}), "not a directory");
  ExpectRefused(check({Tier("x", root_ / "a", kMiB)}), "below one chunk");
  EXPECT_TRUE(check({Tier("x", root_ / "a", kMiB + 4 * kKiB)}).has_value());
  ExpectRefused(check({Tier("x", root_ / "a"), Tier("x", root_ / "b")}), "second tier named x");
  ExpectRefused(check({Tier("x", root_ / "a"), Tier("y", root_ / "b" / ".." / "a")}), "already");
  ExpectRefused(check({Tier("x", root_ / "a"), Tier("y", root_ / "a" / "inner")}), "nested");
  ExpectRefused(check({Tier("x", root_ / "a" / "inner"), Tier("y", root_ / "a")}), "nested");
  fs::create_directory_symlink(root_ / "a", root_ / "link");
  ExpectRefused(check({Tier("x", root_ / "link"), Tier("y", root_ / "a")}), "already");
}

}  // namespace
}  // namespace kvstream::cli
