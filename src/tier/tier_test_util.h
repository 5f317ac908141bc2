#pragma once

#include <fcntl.h>

#include <cstddef>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "kvstream/chunk_key.h"

#include "chunk/crc32c.h"
#include "chunk/footer.h"
#include "chunk/path.h"
#include "io/file_system.h"
#include "tier/tier_directory.h"

namespace kvstream::tier {

inline ChunkKey TestKey(uint64_t number) {
  const std::string text = std::to_string(number);
  const std::string_view parts[] = {"test", text};
  return ChunkKey::FromParts(parts);
}

inline Identity TestIdentity(std::string model = "org/model") {
  Identity identity;
  identity.model = std::move(model);
  identity.dtype = "bfloat16";
  identity.chunk_tokens = 256;
  return identity;
}

inline TierDirectoryOptions TestOptions(const std::string& directory, std::string owner = "me",
                                        std::string name = "nvme") {
  TierDirectoryOptions options;
  options.name = std::move(name);
  options.directory = directory;
  options.owner = std::move(owner);
  options.holder = "node7, process 1234";
  options.random_seed = 42;
  return options;
}

/// A meta with fields and checksums that depend on `number`.
inline chunk::MetaRef TestMeta(uint64_t number, uint64_t payload_bytes, uint32_t block_bytes) {
  chunk::MetaRef meta = chunk::MetaRef::Create(0, TestKey(number), payload_bytes, block_bytes);
  meta.mutable_meta().write_id = number * 0x9e3779b97f4a7c15u + 1;
  meta.mutable_meta().generation_ns = 1700000000000000000u + number;
  for (uint32_t& crc : meta.mutable_meta().crcs()) crc = static_cast<uint32_t>(number * 31 + 7);
  return meta;
}

inline std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

inline void WriteText(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  ASSERT_TRUE(file.good()) << path;
}

/// Writes and publishes a chunk of zeros as a lane would. Returns its meta.
inline chunk::MetaRef PutChunk(io::FileSystem& files, TierDirectory& tier, const Identity& identity,
                               uint64_t number, uint64_t payload_bytes = 5000) {
  const auto fingerprint = chunk::Fingerprint::Of(identity);
  chunk::MetaRef meta = TestMeta(number, payload_bytes, 4096);
  std::vector<std::byte> bytes(meta->FileBytes());
  chunk::EncodeFooter(*meta, fingerprint, tier.owner(),
                      std::span(bytes).last<chunk::kFooterBytes>());
  auto temp = tier.CreateTemp(fingerprint, meta->key, false, meta->FileBytes());
  EXPECT_TRUE(temp.has_value()) << (temp ? "" : temp.error().ToString());
  if (!temp) return meta;
  EXPECT_EQ(files.Write(temp->fd, bytes, 0), static_cast<int64_t>(bytes.size()));
  EXPECT_EQ(files.Close(temp->fd), 0);
  EXPECT_EQ(tier.Publish(temp->path, fingerprint, meta->key), 0);
  return meta;
}

template <typename T>
void ExpectError(const Result<T>& result, ErrorCode code, std::string_view text) {
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), code) << result.error().ToString();
  EXPECT_NE(result.error().message().find(text), std::string::npos) << result.error().ToString();
}

}  // namespace kvstream::tier
