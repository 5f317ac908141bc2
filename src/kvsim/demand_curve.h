#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kvstream/status.h"

#include "trace/request_trace.h"

namespace kvstream::kvsim {

/// What an LRU of so many bytes a rank in front of storage would leave to it.
struct DemandPoint {
  uint64_t memory_bytes = 0;
  double demand_bytes = 0;  ///< D of Eq. 2: reused chunks that are not in memory, per rank.
  double miss_ratio = 0;    ///< Of the reuses.
  double error = 0;         ///< Standard error of the miss ratio; 0 if exact.
};

/// D over M (Eq. 2) from reuse distances, and how it was found.
struct DemandCurve {
  uint64_t accesses = 0;  ///< Chunk accesses of the trace.
  double reuses = 0;
  double unique_chunks = 0;
  double rate = 1;  ///< Share of the chunks in the sample; 1: exact.
  std::vector<DemandPoint> points;
};

/// `memory` empty: from 1 GiB in steps of a factor of sqrt(2) until nothing is left. A request's
/// chunks are touched from the last to the first, as caches do that must lose the head of a prefix
/// last. `rate` < 1 samples chunks by hash. Pure.
DemandCurve ComputeDemandCurve(const trace::RequestTrace& trace, uint64_t chunk_bytes, double rate,
                               std::span<const uint64_t> memory, uint64_t seed = 1);

}  // namespace kvstream::kvsim
