#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kvstream/chunk_key.h"

#include "chunk/fingerprint.h"

namespace kvstream::chunk {

/// Longest name of an owner, in characters.
inline constexpr size_t kOwnerCharsMax = 63;

/// 1 to kOwnerCharsMax of: letters, digits, '.', '_', '-'.
bool IsOwnerName(std::string_view name);

/// "<64 hex>.kv".
std::string ChunkFileName(const ChunkKey& key);
/// Empty unless `name` is exactly what ChunkFileName gives for some key.
std::optional<ChunkKey> ParseChunkFileName(std::string_view name);

/// The two hexadecimal digits that name the key's directory: 256 of them in a namespace.
std::string FanOut(const ChunkKey& key);
bool IsFanOut(std::string_view name);

/// First 24 hexadecimal digits of the fingerprint.
std::string NamespaceDirectoryName(const Fingerprint& fingerprint);
bool IsNamespaceDirectoryName(std::string_view name);

/// A file that is being written: ".<64 hex>.<owner>.<16 hex nonce>.tmp", at most 150 characters.
struct TempName {
  ChunkKey key;
  std::string owner;
  uint64_t nonce = 0;
};
/// Requires a valid owner name.
std::string TempFileName(const ChunkKey& key, std::string_view owner, uint64_t nonce);
/// Empty unless `name` is exactly what TempFileName gives for some arguments.
std::optional<TempName> ParseTempFileName(std::string_view name);

}  // namespace kvstream::chunk
