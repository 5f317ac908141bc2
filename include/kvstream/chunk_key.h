#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "kvstream/export.h"
#include "kvstream/status.h"

namespace kvstream {

/// The name of a chunk within its namespace: 32 bytes, normally a SHA-256 digest.
struct KVS_EXPORT ChunkKey {
  std::array<std::byte, 32> bytes{};

  /// SHA-256 over the parts, each preceded by its length as 8 little-endian bytes, so that
  /// ("ab","c") and ("a","bc") differ. Any number of parts of any content.
  static ChunkKey FromParts(std::span<const std::string_view> parts);

  /// 64 lower-case hexadecimal digits.
  std::string ToHex() const;
  /// kInvalidArgument unless `hex` is 64 lower-case hexadecimal digits.
  static Result<ChunkKey> FromHex(std::string_view hex);

  friend auto operator<=>(const ChunkKey&, const ChunkKey&) = default;
};

/// Everything that decides what the bytes of a chunk mean. Two identities that differ in any field
/// never see each other's chunks. Fields a host does not have stay at their defaults.
struct KVS_EXPORT Identity {
  std::string model;       ///< Name of the model; required, not empty.
  std::string revision{};  ///< Weights: commit, hash or adapter (LoRA) of the model.
  std::string dtype{};     ///< Element type of the KV cache, for example "bfloat16".
  std::string layout{};    ///< Memory layout of a chunk, for example "KV_2LTD".
  std::string
      adapter{};       ///< Host adapter that defines the chunk's bytes, for example "lmcache-mp".
  std::string salt{};  ///< Tenant or cache salt.
  uint32_t chunk_tokens = 0;
  uint32_t tensor_parallel_size = 1;
  uint32_t tensor_parallel_rank = 0;
  uint32_t pipeline_parallel_size = 1;
  uint32_t pipeline_parallel_rank = 0;
  uint64_t row_bytes = 0;  ///< Bytes of one row where the host stores rows; else 0.

  /// SHA-256 of all fields, length-prefixed, and of the on-disk format version, as 64 hex digits.
  /// The first 24 name the namespace's directory.
  std::string Fingerprint() const;
};

}  // namespace kvstream
