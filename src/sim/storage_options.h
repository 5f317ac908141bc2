#pragma once

#include <cstdint>
#include <span>

#include "kvstream/options.h"

#include "sim/storage_chunk.h"
#include "sim/write_policy.h"

namespace kvstream::sim {

struct StorageOptions {
  RoutingOptions routing{};
  /// Request by request (the paper's O1): the next request's chunks are read when the last one's
  /// are on the GPU. Else all of a step are one pool, and copies to the GPU overlap reads (M1).
  bool serial = false;
  WriteOptions write{};
  /// b_D2H of one rank, bytes per second.
  double link_bytes_per_second = 1e18;
  /// Chunks are read in pieces of at least 1 MiB (the engine's block), and of at least the step's
  /// bytes over this, rounded up to whole MiB: a step then takes about this many events at most.
  /// The last piece of each tier is what a coarser grain costs: up to 1 / this × Σb / b_k of the
  /// bound.
  uint32_t pieces_max = 2000;
};

/// The chunks of one step that memory does not have (D_i), in the order of the batch.
struct StepReads {
  /// Each once, prefix order within a request. Each must have a holder or be staged.
  std::span<const StorageChunk> chunks{};
  /// Where each request's chunks end in `chunks`, ascending; empty: one request. Only `serial`
  /// needs it.
  std::span<const uint32_t> request_ends{};
  /// Bytes of the batch that come from host memory: they share the link to the GPU.
  uint64_t host_bytes = 0;
};

}  // namespace kvstream::sim
