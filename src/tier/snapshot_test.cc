#include "tier/snapshot.h"

#include <cstring>

#include "base/prng.h"
#include "io/posix_file_system.h"
#include "testing/sim_file_system.h"
#include "tier/tier_files.h"
#include "tier/tier_test_util.h"

namespace kvstream::tier {
namespace {

class SnapshotTest : public ::testing::Test {
 protected:
  SnapshotTest() { identity_.uuid[3] = std::byte{9}; }

  Snapshot Make(size_t entries) {
    Snapshot snapshot;
    snapshot.fingerprints = {chunk::Fingerprint::Of(TestIdentity("a")),
                             chunk::Fingerprint::Of(TestIdentity("b"))};
    for (size_t i = 0; i < entries; ++i) {
      snapshot.entries.push_back(
          {static_cast<uint32_t>(i % 2), i % 3 == 0, TestMeta(i, 1 + (i % 5) * 4096, 4096)});
    }
    return snapshot;
  }

  std::string Write(const Snapshot& snapshot) {
    files_.SetContents(path_, {});
    const int fd = files_.Open(path_, O_WRONLY);
    EXPECT_GE(fd, 0);
    EXPECT_EQ(WriteSnapshotFile(files_, fd, identity_, snapshot), 0);
    EXPECT_EQ(files_.Close(fd), 0);
    const std::vector<std::byte> bytes = files_.Contents(path_);
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

  Result<Snapshot> Read() {
    const ReadHandle file(files_, files_.Open(path_, O_RDONLY));
    return ReadSnapshotFile(files_, file.fd(), identity_);
  }

  Result<Snapshot> Read(const std::string& text) {
    files_.SetContents(path_, std::as_bytes(std::span(text)));
    return Read();
  }

  const std::string path_ = "/snapshot";
  test::SimFileSystem files_;
  SnapshotIdentity identity_ = {{}, "me"};
};

/// Overwrites a field and makes the checksum of the header agree again.
std::string WithHeaderField(std::string text, size_t offset, uint64_t value, size_t bytes) {
  std::memcpy(text.data() + offset, &value, bytes);
  const uint32_t crc = chunk::Crc32c(std::as_bytes(std::span(text)).first(124));
  std::memcpy(text.data() + 124, &crc, sizeof(crc));
  return text;
}

TEST_F(SnapshotTest, KeepsEntriesInOrderAcrossSections) {
  const Snapshot snapshot = Make(30000);
  const std::string text = Write(snapshot);
  ASSERT_GT(text.size(), size_t{2} << 20) << "several sections";
  const auto loaded = Read();
  ASSERT_TRUE(loaded.has_value()) << loaded.error().ToString();
  EXPECT_FALSE(loaded->clean);
  EXPECT_EQ(loaded->fingerprints, snapshot.fingerprints);
  ASSERT_EQ(loaded->entries.size(), snapshot.entries.size());
  for (size_t i = 0; i < snapshot.entries.size(); ++i) {
    const SnapshotEntry& a = snapshot.entries[i];
    const SnapshotEntry& b = loaded->entries[i];
    ASSERT_EQ(a.fingerprint_index, b.fingerprint_index);
    ASSERT_EQ(a.owned, b.owned);
    ASSERT_EQ(a.meta->key, b.meta->key);
    ASSERT_EQ(a.meta->write_id, b.meta->write_id);
    ASSERT_EQ(a.meta->generation_ns, b.meta->generation_ns);
    ASSERT_EQ(a.meta->payload_bytes, b.meta->payload_bytes);
    ASSERT_EQ(a.meta->block_bytes, b.meta->block_bytes);
    ASSERT_TRUE(std::ranges::equal(a.meta->crcs(), b.meta->crcs()));
  }
}

TEST_F(SnapshotTest, KeepsAnEmptyIndexAndTheLargestChunk) {
  Write(Snapshot());
  auto loaded = Read();
  ASSERT_TRUE(loaded.has_value()) << loaded.error().ToString();
  EXPECT_TRUE(loaded->entries.empty());
  Snapshot snapshot = Make(0);
  for (uint64_t i = 0; i < 400; ++i) {
    snapshot.entries.push_back({0, true, TestMeta(i, uint64_t{chunk::kBlocksMax} * 4096, 4096)});
  }
  Write(snapshot);
  loaded = Read();
  ASSERT_TRUE(loaded.has_value()) << loaded.error().ToString();
  EXPECT_EQ(loaded->entries.size(), 400u);
}

TEST_F(SnapshotTest, AnyFlippedByteIsNoticed) {
  const std::string good = Write(Make(7));
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    const auto loaded = Read(bad);
    ASSERT_FALSE(loaded.has_value()) << "byte " << i;
    ASSERT_EQ(loaded.error().code(), ErrorCode::kCorruption) << "byte " << i;
  }
}

TEST_F(SnapshotTest, AnyTruncationOrExtensionIsNoticed) {
  const std::string good = Write(Make(7));
  for (size_t length = 0; length < good.size(); ++length) {
    ExpectError(Read(good.substr(0, length)), ErrorCode::kCorruption, "");
  }
  ExpectError(Read(good + '\0'), ErrorCode::kCorruption, "after the last section");
  ExpectError(Read(good + good), ErrorCode::kCorruption, "after the last section");
}

TEST_F(SnapshotTest, HostileCountsAllocateNothing) {
  const std::string good = Write(Make(7));
  ExpectError(Read(WithHeaderField(good, 96, ~uint64_t{0}, 8)), ErrorCode::kCorruption,
              "entry count");
  ExpectError(Read(WithHeaderField(good, 96, 8, 8)), ErrorCode::kCorruption, "shorter");
  ExpectError(Read(WithHeaderField(good, 96, 6, 8)), ErrorCode::kCorruption,
              "entries of a section");
  ExpectError(Read(WithHeaderField(good, 104, ~uint64_t{0}, 4)), ErrorCode::kCorruption,
              "fingerprint count");
  ExpectError(Read(WithHeaderField(good, 104, 1, 4)), ErrorCode::kCorruption,
              "fingerprint section");
  ExpectError(Read(WithHeaderField(good, 12, 129, 4)), ErrorCode::kCorruption, "header length");
  std::string section = good;
  std::memset(section.data() + 128 + 4, 0xff, 4);
  ExpectError(Read(section), ErrorCode::kCorruption, "section length");
}

TEST_F(SnapshotTest, SealedNoiseInEntriesNeverCrashes) {
  const uint64_t seed = 5;
  base::Prng prng(seed);
  const std::string good = Write(Make(7));
  const size_t section = 128 + 16 + 64;
  size_t accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string bad = good;
    for (uint64_t edits = 1 + prng.Below(3); edits > 0; --edits) {
      bad[section + 16 + prng.Below(bad.size() - section - 16)] = static_cast<char>(prng.Next());
    }
    const auto bytes = std::as_bytes(std::span(bad)).subspan(section);
    const uint32_t crc = chunk::ExtendCrc32c(chunk::Crc32c(bytes.first(12)), bytes.subspan(16));
    std::memcpy(bad.data() + section + 12, &crc, sizeof(crc));
    const auto loaded = Read(bad);
    if (!loaded) {
      ASSERT_EQ(loaded.error().code(), ErrorCode::kCorruption) << "seed " << seed;
      continue;
    }
    ++accepted;
    ASSERT_EQ(loaded->entries.size(), 7u) << "seed " << seed;
  }
  EXPECT_GT(accepted, 0u) << "noise in keys and checksums is no format error";
}

TEST_F(SnapshotTest, RefusesAnotherTiersAnotherOwnersAndANewerFormat) {
  const std::string good = Write(Make(2));
  identity_.owner = "you";
  ExpectError(Read(), ErrorCode::kInvalidArgument, "another owner");
  identity_ = {{}, "me"};
  ExpectError(Read(), ErrorCode::kInvalidArgument, "another tier");
  ExpectError(Read(WithHeaderField(good, 8, 2, 4)), ErrorCode::kUnsupported, "version 2");
  ExpectError(Read(WithHeaderField(good, 8, 0, 4)), ErrorCode::kCorruption, "version 0");
}

TEST_F(SnapshotTest, WritingReportsAFullFileSystem) {
  io::PosixFileSystem files;
  const int fd = files.Open("/dev/full", O_WRONLY);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(WriteSnapshotFile(files, fd, identity_, Make(7)), -ENOSPC);
  EXPECT_EQ(files.Close(fd), 0);
}

}  // namespace
}  // namespace kvstream::tier
