#pragma once

#include <cstdint>
#include <span>

namespace kvstream::model {

// Demand in closed form: Eq. 2 of the paper (arXiv:2610.31827) and what compression does to it
// (Sec 7). Capacities are bytes per rank, or whatever unit the bins have. Pure; any thread.

/// Reuses at one distance. The distance d of a reuse is the bytes of distinct KV touched between
/// two uses, the reused chunk included, so that an LRU of M bytes hits exactly when d <= M.
struct ReuseBin {
  uint64_t distance_bytes = 0;
  uint64_t reused_bytes = 0;  ///< Of all reuses at this distance together.
};

/// V: the bytes of all reuses. The sum must fit into 64 bits, here and below.
uint64_t ReusedVolume(std::span<const ReuseBin> bins);

/// Eq. 2: D = V * Pr[d > M], Pr weighted by bytes. Bins may come in any order.
uint64_t Demand(std::span<const ReuseBin> bins, uint64_t capacity_bytes);

/// Sec 7: D_r = (V / r) * Pr[d > r * M], for KV compressed to 1 / r of its bytes; `ratio` >= 1.
double CompressedDemand(std::span<const ReuseBin> bins, uint64_t capacity_bytes, double ratio);

}  // namespace kvstream::model
