#pragma once

#include <cstdint>
#include <vector>

#include "kvstream/options.h"

#include "sim/storage_chunk.h"

namespace kvstream::sim {

/// Which tiers get a copy of a new chunk, and when the others follow (model.md §8).
enum class Replication : uint8_t {
  kFull,      ///< Every tier (M3).
  kNone,      ///< One tier, by the placement.
  kWhenSlow,  ///< One; the others once the chunk was read from a tier that had turned slow.
  kFraction,  ///< One; of `fraction` of each prefix every tier.
  kOnReuse,   ///< One; the others when it is read from storage for the first time.
};

/// Where the one copy goes.
enum class Placement : uint8_t {
  kPosition,  ///< The first share of a prefix on tier 0, the next on tier 1 …
  kHash,      ///< By a hash of the chunk, in these proportions.
};

/// Which part of a prefix kFraction copies.
enum class PrefixPart : uint8_t {
  kHead,
  kMiddle,  ///< Around the end of tier 0's share, where the tiers meet.
  kTail,
};

/// When copies go to the tiers.
enum class WriteTiming : uint8_t {
  kDeferred,   ///< When the step's reads are done, behind the forward pass (M2).
  kImmediate,  ///< At once, against the next step's reads.
};

struct WriteOptions {
  Replication replication = Replication::kFull;
  Placement placement = Placement::kPosition;
  /// Relative weight per tier of the placement; empty: equal.
  std::vector<double> shares{};
  double fraction = 0.4;  ///< kFraction; rounded up to whole chunks per prefix.
  PrefixPart part = PrefixPart::kMiddle;
  /// kWhenSlow: a tier is slow in a step in which it delivered less than 1 / this of its mean
  /// bandwidth over the steps before; at least 1.
  double slow_factor = 1.25;
  WriteTiming timing = WriteTiming::kDeferred;
  /// kWait: the step waits for room (T_wr). kDrop: chunks that do not fit are not stored.
  StageFull full = StageFull::kWait;
  /// Memory for chunks on their way to the tiers, per rank.
  uint64_t stage_bytes = 1 * kGiB;
};

/// The tiers that a new chunk goes to at first.
TierMask FirstCopies(const WriteOptions& options, uint32_t tier_count, const StorageChunk& chunk);

}  // namespace kvstream::sim
