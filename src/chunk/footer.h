#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "kvstream/status.h"

#include "chunk/chunk_meta.h"
#include "chunk/fingerprint.h"

namespace kvstream::chunk {

/// Every chunk file ends in one footer of this many bytes (docs/file_format.md).
inline constexpr size_t kFooterBytes = kAlignBytes;
/// Blocks that one footer has checksums for.
inline constexpr uint32_t kBlocksMax = 959;

static_assert(kChunkBytesMax <= uint64_t{kBlocksMax} * kBlockBytes,
              "a chunk of the largest size needs a checksum for each block");

/// The three lengths that describe a chunk, wherever they are read from.
struct ChunkSizes {
  uint64_t payload_bytes = 0;
  uint32_t block_bytes = 0;
  uint32_t block_count = 0;
};

/// kCorruption, naming the field, unless a chunk of these sizes can exist: what MetaRef::Create and
/// a footer can take.
Status CheckChunkSizes(const ChunkSizes& sizes);

/// What a footer says, every field checked for itself. Whether it is the footer that was looked for
/// (key, fingerprint, length of the file) is the caller's question.
struct DecodedFooter {
  MetaRef meta;
  Fingerprint fingerprint;
  std::string owner;
};

/// Writes the footer of `meta` into `out`. Requires a meta with all checksums set, at most
/// kBlocksMax blocks of at most kBlockBytes, and a valid owner name (chunk/path.h).
void EncodeFooter(const ChunkMeta& meta, const Fingerprint& fingerprint, std::string_view owner,
                  std::span<std::byte, kFooterBytes> out);

/// Reads a footer from untrusted bytes; `ns` is put into the meta. kUnsupported, naming the
/// version, for an intact footer of a newer format; else kCorruption, naming the field that is
/// wrong.
Result<DecodedFooter> DecodeFooter(std::span<const std::byte, kFooterBytes> bytes, NamespaceId ns);

}  // namespace kvstream::chunk
