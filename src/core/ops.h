#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kvstream/engine.h"

#include "chunk/chunk_meta.h"

namespace kvstream::core {

// What the core asks of lanes, and what they answer. Operations carry everything a lane needs, so
// that it works outside the engine's mutex.

/// Names an operation in flight; never reused.
using OpId = uint64_t;

using Segments = std::vector<std::span<std::byte>>;
using ConstSegments = std::vector<std::span<const std::byte>>;

/// For a read lane.
struct ReadOp {
  enum class Kind : uint8_t {
    kBlocks,  ///< Read, verify and deliver a piece.
    kFooter,  ///< Look for a chunk nobody told us of: read its footer (LookupAsync with discover).
    kProbe,   ///< Is the tier back? Read its marker.
  };
  Kind kind = Kind::kBlocks;
  OpId id = 0;
  /// kFooter.
  NamespaceId ns = 0;
  ChunkKey key;
  /// kBlocks: the version wanted.
  chunk::MetaRef meta;
  uint32_t first_block = 0;
  uint32_t block_count = 0;
  /// Read into engine memory; when verified ask Core::BeginLanding whether to copy.
  bool bounce = false;
  /// The chunk's destination, for direct reads; stays valid until ReadFinished.
  const Segments* segments = nullptr;
};

enum class ReadOutcome : uint8_t {
  kDelivered,  ///< Verified and in the caller's memory.
  kOvertaken,  ///< Verified, but BeginLanding said no.
  kFound,      ///< kFooter: `found` is the chunk. kProbe: the tier answers.
  kMissing,    ///< No such file.
  kShort,      ///< The file ends before the piece does.
  kCorrupt,    ///< Checksums disagree and the file's footer names the version wanted.
  kReplaced,   ///< The file is another version: `found`.
  kFailed,     ///< The file system answered `errno_value`.
};

struct ReadResult {
  ReadOutcome outcome = ReadOutcome::kFailed;
  int errno_value = 0;
  chunk::MetaRef found;
};

/// For a write lane. The operations of one copy arrive in order: kBlocks (any number, several at a
/// time), then kPublish or kAbandon.
struct WriteOp {
  enum class Kind : uint8_t {
    kBlocks,   ///< Write a piece to the copy's temporary file, created by the first one.
    kPublish,  ///< Write the footer, rename.
    kAbandon,  ///< Remove the temporary file, if any.
    kUnlink,   ///< Remove the published file of `meta`.
    kProbe,    ///< Is the tier writable again? Write and remove a small file.
  };
  Kind kind = Kind::kBlocks;
  OpId id = 0;
  uint64_t copy = 0;  ///< Groups the operations of one copy.
  chunk::MetaRef meta;
  uint32_t first_block = 0;
  uint32_t block_count = 0;
  /// Where the payload is: engine blocks of meta->block_bytes, zero-padded to kAlignBytes, or the
  /// caller's segments. Both stay valid until WriteFinished.
  const std::vector<std::byte*>* blocks = nullptr;
  const ConstSegments* segments = nullptr;
};

struct WriteResult {
  bool ok = false;
  int errno_value = 0;
  /// kPublish that failed, kAbandon: the temporary file is still there. Another kAbandon tries
  /// again.
  bool temp_left = false;
};

/// For the memory lane.
struct MemoryOp {
  enum class Kind : uint8_t {
    kCopyOut,  ///< Copy a staged chunk into a read's segments, verifying its checksums.
    kSeal,     ///< Compute the checksums of borrowed memory; nobody else sees the meta until then.
  };
  Kind kind = Kind::kCopyOut;
  OpId id = 0;
  chunk::MetaRef meta;
  const std::vector<std::byte*>* blocks = nullptr;
  const ConstSegments* source = nullptr;
  const Segments* destination = nullptr;
};

}  // namespace kvstream::core
