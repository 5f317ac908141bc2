#pragma once

#include <array>
#include <cstdint>

#include "kvstream/options.h"

namespace kvstream::sim {

/// What one tier did between two steps' last chunks, as one rank sees it. Payload bytes.
struct TierActivity {
  uint64_t read_bytes = 0;
  uint64_t read_chunks = 0;  ///< Chunks whose last piece it delivered.
  double read_busy_s = 0;    ///< At least one read under way.
  uint64_t written_bytes = 0;
  double write_busy_s = 0;
};

/// Of two running totals.
TierActivity operator-(const TierActivity& later, const TierActivity& earlier);

/// The storage half of one step, in the words of the step log (docs/step_log.md). Per rank.
struct StepStorage {
  std::array<TierActivity, kTiersMax> tiers{};
  uint64_t demand_bytes = 0;  ///< D_i
  uint64_t demand_chunks = 0;
  uint64_t staged_hit_bytes = 0;  ///< Of the demand, from the stage.
  uint64_t read_twice_bytes = 0;  ///< Read by two tiers; part of read_bytes, not of the demand.
  double retrieval_s = 0;         ///< T_ret: submission to the last chunk on the GPU.
  /// T̄ at the bandwidths the tiers showed in this step (Eq. 3 with the link to the GPU): as if
  /// every tier held every chunk.
  double bound_s = 0;
  /// The same for the copies that exist (model::PartialCopyBound); at least bound_s.
  double partial_bound_s = 0;
  /// Bandwidth that the bounds used, bytes per second; infinite bounds where none is known.
  std::array<double, kTiersMax> bandwidths{};
  /// Tiers without a read in this step: the bounds used the last value they showed, or before that
  /// what the device offers at this moment.
  TierMask bandwidths_assumed = 0;
  /// The writes handed over since the step before, each chunk once (W_i).
  uint64_t new_bytes = 0;
  double write_wait_s = 0;     ///< T_wr: what handing them over waited for the stage.
  uint64_t staged_bytes = 0;   ///< In the stage when the last chunk was there.
  uint64_t dropped_bytes = 0;  ///< Copies given up since the step before.

  /// Gap of one step to the bound of full copies; 0 without a bound.
  double gap() const { return bound_s > 0 ? retrieval_s / bound_s - 1 : 0; }
};

/// What a node's storage did from the start. Per rank.
struct StorageTotals {
  struct Tier {
    TierActivity activity;
    uint64_t staged_bytes = 0;   ///< Copies that were to be written.
    uint64_t dropped_bytes = 0;  ///< Of those, given up: no room, or the stage was full.
    uint64_t evicted_bytes = 0;
  };
  std::array<Tier, kTiersMax> tiers{};
  uint64_t steps = 0;
  uint64_t demand_bytes = 0;
  uint64_t staged_hit_bytes = 0;
  uint64_t read_twice_bytes = 0;
  uint64_t claims = 0;
  uint64_t claims_done = 0;
  /// Chunks handed to Write that no tier had and no stage held, each write once: what a single copy
  /// would have written.
  uint64_t new_bytes = 0;
  uint64_t staged_bytes_max = 0;
  double write_wait_s = 0;

  /// Bytes written to all tiers over new_bytes; 0 without.
  double write_amplification() const;
};

}  // namespace kvstream::sim
