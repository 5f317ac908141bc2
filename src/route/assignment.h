#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kvstream/options.h"

namespace kvstream::route {

/// What routing knows of one chunk of a job.
struct PoolChunk {
  uint32_t item = 0;  ///< Index in the job, prefix order.
  uint32_t block_count = 0;
  uint32_t block_bytes = 0;
  uint64_t payload_bytes = 0;
  TierMask holders = 0;  ///< Tiers with a copy.
  uint64_t hash = 0;     ///< Of the key, for kStaticHash.
  TierMask readers = 0;  ///< Set by Assign: the holders that may claim it.
};

/// Fixes which of its holders may read each chunk: all of them for kMeetInMiddle, one for the
/// comparison policies. A chunk whose chosen tier has no copy goes to its first holder.
void Assign(const RoutingOptions& options, uint32_t tier_count, std::span<PoolChunk> chunks);

/// The readers that remain when the chunk's holders have become `holders`.
TierMask Reassign(const RoutingOptions& options, const PoolChunk& chunk, TierMask holders);

}  // namespace kvstream::route
