#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "chunk/footer.h"

namespace kvstream::tier {

/// One valid chunk file found by a scan.
struct ScannedChunk {
  /// The meta's ns is 0 and the meta is not shared: the sink may set it through mutable_meta.
  chunk::DecodedFooter footer;
  uint64_t file_bytes = 0;
  bool owned = false;  ///< Written by the owner that scans.
};

/// Receives what a scan finds, in no particular order, on the scanning thread.
class ScanSink {
 public:
  virtual ~ScanSink() = default;
  /// At most kScanBatchMax chunks, which the sink may take.
  virtual void OnChunks(std::span<ScannedChunk> chunks) = 0;
};

inline constexpr size_t kScanBatchMax = 256;

/// What a scan saw and did, in files.
struct ScanReport {
  uint64_t chunks = 0;          ///< Reported to the sink.
  uint64_t temps_removed = 0;   ///< Temporary files of this owner, from earlier runs.
  uint64_t temps_left = 0;      ///< Of other owners, or of this run.
  uint64_t broken_removed = 0;  ///< Chunk files of this user whose contents cannot be a chunk.
  uint64_t unknown_left = 0;    ///< Everything else: foreign, not regular, of a newer format.
  uint64_t errors = 0;          ///< Files and directories that could not be read or removed.
  bool stopped = false;         ///< Ended early on request.
};

}  // namespace kvstream::tier
