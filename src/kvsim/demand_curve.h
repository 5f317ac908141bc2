#pragma once

#include <cstdint>
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

/// Bytes of distinct KV, per rank, touched between two uses of a chunk, the chunk included: what M
/// must be to hit. Quantiles over all reuses; 0 without.
struct ReuseDistances {
  uint64_t p10 = 0;
  uint64_t p50 = 0;
  uint64_t p90 = 0;
  uint64_t p99 = 0;
};

/// D over M (Eq. 2) from reuse distances, and how it was found.
struct DemandCurve {
  uint64_t accesses = 0;  ///< Chunk accesses of the trace.
  double reuses = 0;
  double unique_chunks = 0;
  double rate = 1;  ///< Share of the chunks in the sample; 1: exact.
  std::vector<DemandPoint> points;
  ReuseDistances distances;  ///< Exact curves only.
};

/// How a curve is found. `memory` empty: from 1 GiB in steps of a factor of sqrt(2) until nothing
/// is left. A request's chunks are touched from the last to the first, as caches do that must lose
/// the head of a prefix last. Pure.
struct DemandOptions {
  uint64_t chunk_bytes = 0;  ///< Of one rank, above 0.
  double rate = 1;           ///< Below 1: a sample of the chunks, by hash.
  double compression = 1;    ///< KV takes 1 / this of its bytes (Sec 7); 1 or more.
  std::vector<uint64_t> memory{};
  uint64_t seed = 1;
};
DemandCurve ComputeDemandCurve(const trace::RequestTrace& trace, const DemandOptions& options);

}  // namespace kvstream::kvsim
