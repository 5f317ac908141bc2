#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kvstream/status.h"

#include "chunk/chunk_meta.h"
#include "chunk/fingerprint.h"
#include "io/file_system.h"
#include "tier/tier_marker.h"

namespace kvstream::tier {

struct SnapshotEntry {
  uint32_t fingerprint_index = 0;  ///< Into Snapshot::fingerprints.
  bool owned = false;              ///< Written by the snapshot's owner.
  /// After loading, its ns is 0 and it is not shared: set ns through mutable_meta.
  chunk::MetaRef meta;
};

/// The index of one tier as one owner knew it. Trusted no more than any file: every entry is only
/// where to look, the checksums decide.
struct Snapshot {
  std::vector<chunk::Fingerprint> fingerprints;
  std::vector<SnapshotEntry> entries;  ///< In LRU order, oldest first.
  /// Set by loading: nothing was written after it, so no scan is needed.
  bool clean = false;
};

/// Whose snapshot it is; one of another tier or owner is refused.
struct SnapshotIdentity {
  TierUuid uuid{};
  std::string owner;
};

/// Writes the file format to `fd` from offset 0. 0 or a negative errno. `clean` is not stored.
int WriteSnapshotFile(io::FileSystem& file_system, int fd, const SnapshotIdentity& identity,
                      const Snapshot& snapshot);

/// Reads untrusted bytes from `fd`, in sections, so that memory stays within a small multiple of
/// the file. kCorruption (which part), kUnsupported (which version), kInvalidArgument (another
/// tier's or owner's), kIo.
Result<Snapshot> ReadSnapshotFile(io::FileSystem& file_system, int fd,
                                  const SnapshotIdentity& identity);

}  // namespace kvstream::tier
