#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <set>

#include "io/posix_file_system.h"
#include "testing/sim_file_system.h"
#include "testing/temp_dir.h"
#include "tier/scan.h"
#include "tier/tier_directory.h"
#include "tier/tier_test_util.h"

namespace kvstream::tier {
namespace {

namespace fs = std::filesystem;

class Collector final : public ScanSink {
 public:
  void OnChunks(std::span<ScannedChunk> chunks) override {
    EXPECT_LE(chunks.size(), kScanBatchMax);
    EXPECT_FALSE(chunks.empty());
    for (ScannedChunk& chunk : chunks) found.push_back(std::move(chunk));
    if (on_batch) on_batch();
  }

  std::vector<ScannedChunk> found;
  std::function<void()> on_batch;
};

class TierScanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    tier_ = Open("me", 42);
    ASSERT_TRUE(tier_->CreateNamespace(identity_).has_value());
  }

  std::unique_ptr<TierDirectory> Open(const std::string& owner, uint64_t seed) {
    auto options = TestOptions(dir_.path().string(), owner);
    options.random_seed = seed;
    auto tier = TierDirectory::Open(files_, options);
    EXPECT_TRUE(tier.has_value()) << (tier ? "" : tier.error().ToString());
    return std::move(*tier);
  }

  ScanReport Scan(Collector* collector) {
    const auto report = tier_->Scan(*collector, {});
    EXPECT_TRUE(report.has_value()) << (report ? "" : report.error().ToString());
    return report ? *report : ScanReport();
  }

  std::string Path(uint64_t number) { return tier_->ChunkPath(fingerprint_, TestKey(number)); }

  test::TempDir dir_;
  io::PosixFileSystem files_;
  const Identity identity_ = TestIdentity();
  const chunk::Fingerprint fingerprint_ = chunk::Fingerprint::Of(identity_);
  std::unique_ptr<TierDirectory> tier_;
};

TEST_F(TierScanTest, ReportsEveryChunkOfEveryNamespaceOnce) {
  const Identity other = TestIdentity("other");
  ASSERT_TRUE(tier_->CreateNamespace(other).has_value());
  const auto you = Open("you", 43);
  std::set<std::pair<std::string, uint64_t>> expected;
  for (uint64_t i = 0; i < 600; ++i) {
    const bool mine = i % 3 != 0;
    const auto meta = PutChunk(files_, mine ? *tier_ : *you, i % 2 == 0 ? identity_ : other, i);
    expected.emplace(meta->key.ToHex(), meta->write_id);
  }
  Collector collector;
  const ScanReport report = Scan(&collector);
  EXPECT_EQ(report.chunks, 600u);
  EXPECT_EQ(report.errors + report.unknown_left + report.broken_removed + report.temps_left, 0u);
  EXPECT_FALSE(report.stopped);
  std::set<std::pair<std::string, uint64_t>> found;
  for (const ScannedChunk& chunk : collector.found) {
    found.emplace(chunk.footer.meta->key.ToHex(), chunk.footer.meta->write_id);
    EXPECT_EQ(chunk.file_bytes, chunk.footer.meta->FileBytes());
    EXPECT_EQ(chunk.owned, chunk.footer.owner == "me");
  }
  EXPECT_EQ(found, expected);
}

TEST_F(TierScanTest, SweepsTemporaryFilesOfEarlierRunsOfThisOwnerOnly) {
  const auto leave_temp = [&](TierDirectory& tier, uint64_t number) {
    const auto temp = tier.CreateTemp(fingerprint_, TestKey(number), false, 8192);
    EXPECT_TRUE(temp.has_value());
    EXPECT_EQ(files_.Close(temp->fd), 0);
    return temp->path;
  };
  const auto you = Open("you", 43);
  const std::string old_mine = leave_temp(*tier_, 1);
  const std::string yours = leave_temp(*you, 2);
  tier_.reset();
  tier_ = Open("me", 44);  // the next run
  const std::string current = leave_temp(*tier_, 3);
  Collector collector;
  const ScanReport report = Scan(&collector);
  EXPECT_EQ(report.temps_removed, 1u);
  EXPECT_EQ(report.temps_left, 2u);
  EXPECT_FALSE(fs::exists(old_mine));
  EXPECT_TRUE(fs::exists(yours));
  EXPECT_TRUE(fs::exists(current));
}

TEST_F(TierScanTest, RemovesChunkFilesThatCannotBeChunks) {
  for (uint64_t i = 0; i < 5; ++i) PutChunk(files_, *tier_, identity_, i);
  WriteText(Path(0), "");
  WriteText(Path(1), std::string(12288, '\0'));
  WriteText(Path(2), ReadText(Path(3)));
  std::string flipped = ReadText(Path(4));
  flipped.back() = static_cast<char>(flipped.back() ^ 1);
  WriteText(Path(4), flipped);
  Collector collector;
  const ScanReport report = Scan(&collector);
  EXPECT_EQ(report.chunks, 1u);
  EXPECT_EQ(report.broken_removed, 4u);
  for (const uint64_t gone : {0u, 1u, 2u, 4u}) EXPECT_FALSE(fs::exists(Path(gone))) << gone;
  EXPECT_TRUE(fs::exists(Path(3)));
}

TEST_F(TierScanTest, LeavesEverythingElseAlone) {
  PutChunk(files_, *tier_, identity_, 1);
  PutChunk(files_, *tier_, identity_, 2);
  const std::string ns = fs::path(Path(1)).parent_path().parent_path().string();
  const std::string fan_out = fs::path(Path(1)).parent_path().string();
  WriteText(dir_.File("README"), "x");
  WriteText(ns + "/notes", "x");
  WriteText(fan_out + "/notes.kv", "x");
  WriteText(fan_out + "/." + std::string(64, 'a') + ".me.tmp", "x");
  fs::create_directory(ns + "/zz");
  fs::create_directory(dir_.File("000000000000000000000000"));  // no namespace.json
  fs::create_directory_symlink("/etc", dir_.File("111111111111111111111111"));
  // At chunk paths: a FIFO, a link, a directory, a chunk in another fan-out directory.
  const std::string head = fan_out + "/" + fs::path(fan_out).filename().string();
  ASSERT_EQ(mkfifo((head + std::string(62, '0') + ".kv").c_str(), 0600), 0);
  fs::create_symlink(Path(2), head + std::string(62, '1') + ".kv");
  fs::create_directory(head + std::string(62, '2') + ".kv");
  fs::copy_file(Path(2), fan_out + "/" + TestKey(2).ToHex() + ".kv");
  Collector collector;
  const ScanReport report = Scan(&collector);
  EXPECT_EQ(report.chunks, 2u);
  EXPECT_EQ(report.unknown_left, 11u);
  EXPECT_EQ(report.broken_removed + report.temps_removed + report.errors, 0u);
  for (const std::string& path :
       {dir_.File("README"), ns + "/notes", fan_out + "/notes.kv",
        head + std::string(62, '0') + ".kv", head + std::string(62, '2') + ".kv"}) {
    EXPECT_TRUE(fs::exists(path)) << path;
  }
}

TEST_F(TierScanTest, LeavesChunksOfANewerFormat) {
  PutChunk(files_, *tier_, identity_, 1);
  std::string text = ReadText(Path(1));
  const size_t footer = text.size() - 4096;
  text[footer + 8] = 2;
  const uint32_t crc = chunk::Crc32c(std::as_bytes(std::span(text)).subspan(footer, 4092));
  std::memcpy(text.data() + footer + 4092, &crc, sizeof(crc));
  WriteText(Path(1), text);
  Collector collector;
  const ScanReport report = Scan(&collector);
  EXPECT_EQ(report.unknown_left, 1u);
  EXPECT_TRUE(fs::exists(Path(1)));
}

TEST_F(TierScanTest, StopsOnRequest) {
  for (uint64_t i = 0; i < 600; ++i) PutChunk(files_, *tier_, identity_, i);
  std::stop_source source;
  Collector collector;
  collector.on_batch = [&] { source.request_stop(); };
  const auto report = tier_->Scan(collector, source.get_token());
  ASSERT_TRUE(report.has_value());
  EXPECT_TRUE(report->stopped);
  EXPECT_EQ(report->chunks, kScanBatchMax);
  EXPECT_EQ(collector.found.size(), kScanBatchMax);
}

TEST(TierScanFaultTest, NeverRemovesAFileBecauseItCouldNotBeRead) {
  for (const test::FaultOp op :
       {test::FaultOp::kOpen, test::FaultOp::kRead, test::FaultOp::kStat, test::FaultOp::kList}) {
    for (uint64_t n = 1; n < 50; ++n) {
      test::FaultPlan plan(1);
      test::SimFileSystem files({.faults = &plan});
      auto tier = TierDirectory::Open(files, TestOptions("/"));
      ASSERT_TRUE(tier.has_value());
      ASSERT_TRUE((*tier)->CreateNamespace(TestIdentity()).has_value());
      for (uint64_t i = 0; i < 4; ++i) PutChunk(files, **tier, TestIdentity(), i);
      const size_t before = files.AllFiles().size();
      plan.Add({.op = op, .error = EMFILE, .first = n, .count = 1, .path_contains = ""});
      Collector collector;
      const auto report = (*tier)->Scan(collector, {});
      if (plan.fired() == 0) break;
      EXPECT_EQ(files.AllFiles().size(), before);
      if (report) {
        EXPECT_EQ(report->errors, 1u) << "operation " << static_cast<int>(op) << " no. " << n;
      } else {
        EXPECT_EQ(report.error().code(), ErrorCode::kIo);
      }
    }
  }
}

}  // namespace
}  // namespace kvstream::tier
