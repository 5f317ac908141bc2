// Files written by an independent program from docs/file_format.md: this build must read them, and
// must write the same bytes.

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "chunk/crc32c.h"
#include "chunk/footer.h"
#include "testing/sim_file_system.h"
#include "tier/namespace_file.h"
#include "tier/snapshot.h"
#include "tier/tier_marker.h"

namespace kvstream {
namespace {

constexpr char kOwner[] = "node7.rank_3";
constexpr uint64_t kPayloadBytes = 9000;

std::string Load(const std::string& name) {
  std::ifstream file(std::string(KVS_GOLDEN_DIR) + "/" + name, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << name;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::span<const std::byte> Bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

std::span<const std::byte, chunk::kFooterBytes> FooterOf(const std::string& file) {
  EXPECT_GE(file.size(), chunk::kFooterBytes);
  return Bytes(file).last<chunk::kFooterBytes>();
}

Identity GoldenIdentity() {
  Identity identity;
  identity.model = "org/model \"\xce\xb1\"\n";
  identity.revision = "0a1b2c";
  identity.dtype = "bfloat16";
  identity.layout = "KV_2LTD";
  identity.adapter = "golden";
  identity.chunk_tokens = 256;
  identity.tensor_parallel_size = 4;
  identity.tensor_parallel_rank = 3;
  identity.pipeline_parallel_size = 2;
  identity.pipeline_parallel_rank = 1;
  identity.row_bytes = 4096;
  return identity;
}

ChunkKey GoldenKey(std::string_view number) {
  const std::string_view parts[] = {"golden", number};
  return ChunkKey::FromParts(parts);
}

chunk::MetaRef GoldenMeta(const ChunkKey& key, uint64_t write_id) {
  const std::string payload = Load("v1/chunk.kv").substr(0, kPayloadBytes);
  chunk::MetaRef meta = chunk::MetaRef::Create(0, key, kPayloadBytes, 4096);
  chunk::ChunkMeta& fields = meta.mutable_meta();
  fields.write_id = write_id;
  fields.generation_ns = 1700000000000000001u;
  for (uint32_t i = 0; i < fields.block_count; ++i) {
    fields.crcs()[i] =
        chunk::Crc32c(Bytes(payload).subspan(size_t{i} * 4096, fields.BlockBytes(i)));
  }
  return meta;
}

tier::SnapshotIdentity GoldenOwner() {
  tier::SnapshotIdentity identity = {{}, kOwner};
  for (size_t i = 0; i < identity.uuid.size(); ++i) identity.uuid[i] = static_cast<std::byte>(i);
  return identity;
}

Result<tier::Snapshot> ReadSnapshot(const std::string& text) {
  test::SimFileSystem files;
  files.SetContents("/snapshot", Bytes(text));
  return tier::ReadSnapshotFile(files, files.Open("/snapshot", O_RDONLY), GoldenOwner());
}

TEST(GoldenTest, ChunkFileIsReadAndWrittenTheSame) {
  const std::string file = Load("v1/chunk.kv");
  const auto footer = chunk::DecodeFooter(FooterOf(file), 0);
  ASSERT_TRUE(footer.has_value()) << footer.error().ToString();
  EXPECT_EQ(footer->owner, kOwner);
  EXPECT_EQ(footer->fingerprint, chunk::Fingerprint::Of(GoldenIdentity()));
  EXPECT_EQ(footer->meta->key, GoldenKey("1"));
  EXPECT_EQ(footer->meta->payload_bytes, kPayloadBytes);
  EXPECT_EQ(footer->meta->FileBytes(), file.size());

  const chunk::MetaRef meta = GoldenMeta(GoldenKey("1"), 0x1122334455667788u);
  EXPECT_TRUE(std::ranges::equal(footer->meta->crcs(), meta->crcs()));
  std::array<std::byte, chunk::kFooterBytes> written;
  chunk::EncodeFooter(*meta, footer->fingerprint, kOwner, written);
  EXPECT_TRUE(std::ranges::equal(written, FooterOf(file)));
}

TEST(GoldenTest, MarkerIsReadAndWrittenTheSame) {
  const std::string text = Load("v1/tier");
  const auto uuid = tier::DecodeMarker(text);
  ASSERT_TRUE(uuid.has_value()) << uuid.error().ToString();
  EXPECT_EQ(*uuid, GoldenOwner().uuid);
  EXPECT_EQ(tier::EncodeMarker(*uuid), text);
}

TEST(GoldenTest, SiblingsAreReadAndWrittenTheSame) {
  const std::string text = Load("v1/siblings");
  const auto siblings = tier::DecodeSiblings(text);
  ASSERT_TRUE(siblings.has_value()) << siblings.error().ToString();
  ASSERT_EQ(siblings->size(), 1u);
  EXPECT_EQ(siblings->front().name, "lustre 2");
  EXPECT_EQ(siblings->front().uuid[15], std::byte{31});
  EXPECT_EQ(tier::EncodeSiblings(*siblings), text);
}

TEST(GoldenTest, NamespaceIsReadAndWrittenTheSame) {
  const std::string text = Load("v1/namespace.json");
  const auto record = tier::DecodeNamespace(text);
  ASSERT_TRUE(record.has_value()) << record.error().ToString();
  EXPECT_EQ(record->identity.model, GoldenIdentity().model);
  EXPECT_EQ(tier::EncodeNamespace(GoldenIdentity()), text);
}

TEST(GoldenTest, SnapshotIsReadAndWrittenTheSame) {
  const std::string text = Load("v1/snapshot");
  const auto loaded = ReadSnapshot(text);
  ASSERT_TRUE(loaded.has_value()) << loaded.error().ToString();
  ASSERT_EQ(loaded->entries.size(), 2u);
  EXPECT_EQ(loaded->entries[0].meta->key, GoldenKey("1"));
  EXPECT_TRUE(loaded->entries[0].owned);
  EXPECT_FALSE(loaded->entries[1].owned);

  tier::Snapshot snapshot;
  snapshot.fingerprints = {chunk::Fingerprint::Of(GoldenIdentity())};
  snapshot.entries.push_back({0, true, GoldenMeta(GoldenKey("1"), 0x1122334455667789u)});
  snapshot.entries.push_back({0, false, GoldenMeta(GoldenKey("2"), 0x1122334455667788u)});
  test::SimFileSystem files;
  files.SetContents("/snapshot", {});
  const int fd = files.Open("/snapshot", O_WRONLY);
  ASSERT_EQ(tier::WriteSnapshotFile(files, fd, GoldenOwner(), snapshot), 0);
  EXPECT_TRUE(std::ranges::equal(files.Contents("/snapshot"), Bytes(text)));
}

TEST(GoldenTest, EveryFileOfANewerVersionIsRefusedByName) {
  const auto refused = [](const auto& result) {
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code(), ErrorCode::kUnsupported) << result.error().ToString();
    EXPECT_NE(result.error().message().find("version 2"), std::string::npos);
  };
  refused(chunk::DecodeFooter(FooterOf(Load("newer/chunk.kv")), 0));
  refused(tier::DecodeMarker(Load("newer/tier")));
  refused(tier::DecodeSiblings(Load("newer/siblings")));
  refused(tier::DecodeNamespace(Load("newer/namespace.json")));
  refused(ReadSnapshot(Load("newer/snapshot")));
}

}  // namespace
}  // namespace kvstream
