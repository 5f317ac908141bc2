#pragma once

#include <cstdint>

namespace kvstream::sim {

/// A chunk of KV of one rank, as storage sees it.
struct StorageChunk {
  uint32_t id = 0;             ///< Dense: the tables of a run have as many slots as the largest id.
  uint32_t position = 0;       ///< In its prefix, from 0.
  uint32_t prefix_chunks = 1;  ///< Chunks of the prompt it belongs to; above `position`.
  uint64_t bytes = 0;
};

/// A hash of the id, the same in every run.
uint64_t ChunkHash(uint32_t id);

}  // namespace kvstream::sim
