#include <filesystem>

#include "io/posix_file_system.h"
#include "testing/sim_file_system.h"
#include "testing/temp_dir.h"
#include "tier/tier_directory.h"
#include "tier/tier_test_util.h"

namespace kvstream::tier {
namespace {

namespace fs = std::filesystem;
using Tiers = std::vector<std::unique_ptr<TierDirectory>>;

class TierOpenTest : public ::testing::Test {
 protected:
  std::string MakeRoot(const std::string& name) {
    fs::create_directory(dir_.File(name));
    return dir_.File(name);
  }

  Result<Tiers> OpenAll(const std::vector<std::string>& names, const std::string& owner = "me") {
    std::vector<TierDirectoryOptions> options;
    for (const std::string& name : names) {
      options.push_back(TestOptions(dir_.File(name), owner, name));
    }
    return TierDirectory::OpenAll(files_, options);
  }

  test::TempDir dir_;
  io::PosixFileSystem files_;
};

TEST_F(TierOpenTest, NewTiersGetDifferentMarkersThatStay) {
  MakeRoot("a");
  MakeRoot("b");
  TierUuid a;
  TierUuid b;
  {
    const auto tiers = OpenAll({"a", "b"});
    ASSERT_TRUE(tiers.has_value()) << tiers.error().ToString();
    a = (*tiers)[0]->uuid();
    b = (*tiers)[1]->uuid();
    EXPECT_NE(a, b);
    EXPECT_TRUE(TierDirectory::SameDevice(*(*tiers)[0], *(*tiers)[1]));
  }
  const auto tiers = OpenAll({"b", "a"});
  ASSERT_TRUE(tiers.has_value()) << tiers.error().ToString();
  EXPECT_EQ((*tiers)[0]->uuid(), b);
  EXPECT_EQ((*tiers)[1]->uuid(), a);
}

TEST_F(TierOpenTest, MissingDirectoryAndFileAreRefusedByName) {
  MakeRoot("a");
  WriteText(dir_.File("file"), "x");
  ExpectError(OpenAll({"a", "nowhere"}), ErrorCode::kNotFound, "nowhere");
  ExpectError(OpenAll({"a", "file"}), ErrorCode::kInvalidArgument, "not a directory");
  EXPECT_TRUE(fs::is_empty(dir_.File("a"))) << "nothing was written";
}

TEST_F(TierOpenTest, ADirectoryThatEverybodyMayWriteMustBeSticky) {
  const std::string root = MakeRoot("a");
  fs::permissions(root, fs::perms::all);
  ExpectError(OpenAll({"a"}), ErrorCode::kInvalidArgument, "writable by everybody");
  fs::permissions(root, fs::perms::all | fs::perms::sticky_bit);
  EXPECT_TRUE(OpenAll({"a"}).has_value());
}

TEST_F(TierOpenTest, SameDirectoryTwiceIsRefusedWhateverItIsCalled) {
  const std::string root = MakeRoot("a");
  fs::create_directory_symlink(root, dir_.File("link"));
  ExpectError(OpenAll({"a", "a"}), ErrorCode::kInvalidArgument, "same directory");
  ExpectError(OpenAll({"a", "link"}), ErrorCode::kInvalidArgument, "same directory");
  ExpectError(OpenAll({"a", "./a/../a/"}), ErrorCode::kInvalidArgument, "same directory");
  EXPECT_TRUE(fs::is_empty(root));
}

TEST_F(TierOpenTest, NestedDirectoriesAreRefusedWhateverTheyAreCalled) {
  MakeRoot("a");
  MakeRoot("a/x");
  MakeRoot("a/x/y");
  MakeRoot("ab");
  fs::create_directory_symlink(dir_.File("a/x"), dir_.File("link"));
  ExpectError(OpenAll({"a", "a/x/y"}), ErrorCode::kInvalidArgument, "lies within");
  ExpectError(OpenAll({"a/x", "a"}), ErrorCode::kInvalidArgument, "lies within");
  ExpectError(OpenAll({"link", "a"}), ErrorCode::kInvalidArgument, "lies within");
  EXPECT_TRUE(OpenAll({"a", "ab"}).has_value()) << "a common beginning is no nesting";
}

TEST_F(TierOpenTest, ARootThroughALinkWorks) {
  const std::string root = MakeRoot("a");
  fs::create_directory_symlink(root, dir_.File("link"));
  auto tiers = OpenAll({"link"});
  ASSERT_TRUE(tiers.has_value()) << tiers.error().ToString();
  ASSERT_TRUE(tiers->front()->CreateNamespace(TestIdentity()).has_value());
  PutChunk(files_, *tiers->front(), TestIdentity(), 1);
  EXPECT_TRUE(fs::exists(root + "/.kvstream/tier"));
  EXPECT_TRUE(
      tiers->front()->FindChunk(chunk::Fingerprint::Of(TestIdentity()), TestKey(1), 0).has_value());
}

TEST_F(TierOpenTest, AnUnmountedTierIsRefusedAndNothingIsWrittenUnderIt) {
  MakeRoot("a");
  MakeRoot("b");
  ASSERT_TRUE(OpenAll({"a", "b"}).has_value());
  fs::rename(dir_.File("b"), dir_.File("elsewhere"));
  MakeRoot("b");
  ExpectError(OpenAll({"a", "b"}), ErrorCode::kNotFound, "not mounted?");
  EXPECT_TRUE(fs::is_empty(dir_.File("b")));
  fs::remove(dir_.File("b"));
  fs::rename(dir_.File("elsewhere"), dir_.File("b"));
  EXPECT_TRUE(OpenAll({"a", "b"}).has_value()) << "mounted again";
}

TEST_F(TierOpenTest, ATierMayJoinOnlyWhenAllRememberedOnesAreThere) {
  for (const char* name : {"a", "b", "c"}) MakeRoot(name);
  ASSERT_TRUE(OpenAll({"a", "b"}).has_value());
  ExpectError(OpenAll({"a", "c"}), ErrorCode::kNotFound, "\"b\"");
  ASSERT_TRUE(OpenAll({"a", "b", "c"}).has_value());
  EXPECT_TRUE(OpenAll({"a"}).has_value()) << "one tier less is legal";
  EXPECT_TRUE(OpenAll({"c", "b"}).has_value());
}

TEST_F(TierOpenTest, ATierThatIsGoneForGoodCanBeForgotten) {
  for (const char* name : {"a", "b", "c"}) MakeRoot(name);
  ASSERT_TRUE(OpenAll({"a", "b"}).has_value());
  const auto refused = OpenAll({"a", "c"});
  const std::string siblings = dir_.File("a/.kvstream/owners/me.siblings");
  ExpectError(refused, ErrorCode::kNotFound, "remove " + siblings);
  fs::remove(siblings);
  EXPECT_TRUE(OpenAll({"a", "c"}).has_value());
}

TEST_F(TierOpenTest, NodesThatShareOneTierHaveTheirOwnSiblings) {
  for (const char* name : {"nvme1", "nvme2", "shared"}) MakeRoot(name);
  ASSERT_TRUE(OpenAll({"nvme1", "shared"}, "node1").has_value());
  ASSERT_TRUE(OpenAll({"nvme2", "shared"}, "node2").has_value())
      << "nvme1 is not to be expected on node2";
}

TEST_F(TierOpenTest, ACopiedTierIsRefused) {
  MakeRoot("a");
  ASSERT_TRUE(OpenAll({"a"}).has_value());
  fs::copy(dir_.File("a"), dir_.File("copy"), fs::copy_options::recursive);
  ExpectError(OpenAll({"a", "copy"}), ErrorCode::kInvalidArgument, "a copy of");
}

TEST_F(TierOpenTest, DamagedOrNewerMarkersAreRefused) {
  MakeRoot("a");
  ASSERT_TRUE(OpenAll({"a"}).has_value());
  const std::string path = dir_.File("a/.kvstream/tier");
  WriteText(path, "");
  ExpectError(OpenAll({"a"}), ErrorCode::kCorruption, path);
  WriteText(path, "kvstream-tier 2\ncrc32c 5daeb4de\n");
  ExpectError(OpenAll({"a"}), ErrorCode::kCorruption, "checksum");
  fs::remove(path);
  fs::create_directory(path);
  ExpectError(OpenAll({"a"}), ErrorCode::kCorruption, "not a regular file");
}

TEST_F(TierOpenTest, PlantedLinksAmongControlFilesAreNotFollowed) {
  MakeRoot("a");
  MakeRoot("victim");
  fs::create_directory_symlink(dir_.File("victim"), dir_.File("a/.kvstream"));
  ExpectError(OpenAll({"a"}), ErrorCode::kCorruption, "not a directory");
  fs::remove(dir_.File("a/.kvstream"));
  MakeRoot("a/.kvstream");
  fs::create_directory_symlink(dir_.File("victim"), dir_.File("a/.kvstream/owners"));
  ExpectError(OpenAll({"a"}), ErrorCode::kCorruption, "not a directory");
  EXPECT_TRUE(fs::is_empty(dir_.File("victim")));
  fs::remove(dir_.File("a/.kvstream/owners"));
  MakeRoot("a/.kvstream/owners");
  WriteText(dir_.File("victim/lock"), "precious");
  fs::create_symlink(dir_.File("victim/lock"), dir_.File("a/.kvstream/owners/me.lock"));
  ExpectError(OpenAll({"a"}), ErrorCode::kIo, "me.lock");
  EXPECT_EQ(ReadText(dir_.File("victim/lock")), "precious");
}

TEST_F(TierOpenTest, SecondHolderOfAnOwnerIsToldWhoTheFirstIs) {
  MakeRoot("a");
  {
    const auto first = OpenAll({"a"});
    ASSERT_TRUE(first.has_value());
    ExpectError(OpenAll({"a"}), ErrorCode::kBusy, "in use by node7, process 1234");
    EXPECT_TRUE(OpenAll({"a"}, "you").has_value()) << "another owner is welcome";
    WriteText(dir_.File("a/.kvstream/owners/me.lock"), "\x1b[31mred\n");
    ExpectError(OpenAll({"a"}), ErrorCode::kBusy, "in use by unknown");
  }
  EXPECT_TRUE(OpenAll({"a"}).has_value()) << "the lock went with its holder";
}

TEST_F(TierOpenTest, BadNamesAreRefused) {
  MakeRoot("a");
  for (const char* owner : {"", "a/b", "..\n", "x y"}) {
    ExpectError(OpenAll({"a"}, owner), ErrorCode::kInvalidArgument, "owner");
  }
  auto options = TestOptions(dir_.File("a"));
  options.name = "two\nlines";
  ExpectError(TierDirectory::Open(files_, options), ErrorCode::kInvalidArgument, "name");
  options = TestOptions(dir_.File("a"));
  options.holder = "two\nlines";
  ExpectError(TierDirectory::Open(files_, options), ErrorCode::kInvalidArgument, "holder");
  EXPECT_TRUE(fs::is_empty(dir_.File("a")));
}

// Every operation of an open fails once; the process dies; the next open must work unattended.
TEST(TierOpenFaultTest, AnOpenThatFailsAnywhereCanBeRepeated) {
  uint64_t failures = 0;
  for (size_t op = 0; op < test::kFaultOps; ++op) {
    for (uint64_t n = 1; n < 100; ++n) {
      test::FaultPlan plan(1);
      test::SimFileSystem files({.faults = &plan});
      ASSERT_EQ(files.MakeDirectory("/a"), 0);
      ASSERT_EQ(files.MakeDirectory("/b"), 0);
      const std::vector<TierDirectoryOptions> options = {TestOptions("/a", "me", "a"),
                                                         TestOptions("/b", "me", "b")};
      plan.Add({.op = static_cast<test::FaultOp>(op), .first = n, .count = 1, .path_contains = ""});
      const auto failed = TierDirectory::OpenAll(files, options);
      if (plan.fired() == 0) break;
      ++failures;
      plan.Clear();
      // A failed look at an ancestor only ends the search for nested directories.
      EXPECT_TRUE(!failed || static_cast<test::FaultOp>(op) == test::FaultOp::kStat);
      files.CloseAll();
      const auto tiers = TierDirectory::OpenAll(files, options);
      ASSERT_TRUE(tiers.has_value())
          << "operation " << op << " no. " << n << ": " << tiers.error().ToString();
      for (const std::string& path : files.AllFiles()) {
        EXPECT_FALSE(path.ends_with(".tmp")) << path;
      }
    }
  }
  EXPECT_GT(failures, 20u);
}

}  // namespace
}  // namespace kvstream::tier
