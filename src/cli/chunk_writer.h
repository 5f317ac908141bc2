#pragma once

#include <cstdint>
#include <span>

#include "kvstream/engine.h"

namespace kvstream::cli {

struct WriteCounts {
  uint64_t staged = 0;
  uint64_t present = 0;
  uint64_t dropped = 0;
  std::chrono::nanoseconds held{0};  ///< Time inside Engine::Write.
};

/// Generates payloads and hands them to the engine as copies. All chunks have `chunk_bytes`. Not
/// thread-safe; the engine outlives it.
class ChunkWriter {
 public:
  ChunkWriter(Engine& engine, NamespaceId ns, uint64_t chunk_bytes)
      : engine_(engine), ns_(ns), chunk_bytes_(chunk_bytes) {}

  /// Writes the chunks in order, a few dozen MiB a call. A dropped chunk is counted, not an error.
  Result<WriteCounts> Write(std::span<const ChunkKey> keys);

  /// As Write, but drains the stage as it goes, so that nothing has to be dropped; blocks until all
  /// is settled. kTimeout if that takes more than two minutes a batch.
  Result<WriteCounts> WriteAndSettle(std::span<const ChunkKey> keys);

 private:
  Status WriteBatch(std::span<const ChunkKey> keys, WriteCounts* counts);
  size_t BatchChunks() const;

  Engine& engine_;
  NamespaceId ns_;
  uint64_t chunk_bytes_;
  std::vector<std::byte> scratch_;
};

}  // namespace kvstream::cli
