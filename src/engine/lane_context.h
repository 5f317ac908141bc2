#pragma once

#include <string>

#include "engine/core_handle.h"
#include "engine/namespace_table.h"
#include "io/block_pool.h"
#include "io/file_system.h"
#include "io/io_backend.h"
#include "tier/tier_directory.h"

namespace kvstream::engine {

/// What a lane works with. All of it outlives the lane.
struct LaneContext {
  uint32_t tier = 0;
  CoreHandle& core;
  tier::TierDirectory& directory;
  io::FileSystem& files;
  const NamespaceTable& namespaces;
  io::BlockPool& blocks;  ///< Engine memory: of bounced reads, or of unaligned writes.
  bool direct = true;     ///< O_DIRECT.
  bool verify = true;
  uint32_t block_bytes = 1u << 20;

  /// Bytes of one kernel request: what a device likes best, and what one SQE is not cut into pieces
  /// for.
  uint64_t request_bytes_max() const { return uint64_t{4} * block_bytes; }
};

}  // namespace kvstream::engine
