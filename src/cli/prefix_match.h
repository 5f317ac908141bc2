#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "model/roofline.h"
#include "trace/request_trace.h"

namespace kvstream::cli {

/// Where a chunk of a prefix can come from.
enum class ChunkPlace : uint8_t { kNowhere, kHost, kStorage };

/// One chunk that a step needs from storage or will write to it.
struct StepChunk {
  uint64_t id = 0;
  uint32_t position = 0;  ///< In the prefix of the request that first named it.
};

/// What a step asks of storage.
struct StepDemand {
  size_t end = 0;                        ///< Requests [begin, end) make the step.
  std::vector<StepChunk> reads;          ///< Only on storage; batch order, each once.
  std::vector<StepChunk> writes;         ///< To be computed; batch order, each once.
  std::vector<model::ForwardWork> work;  ///< One per request.
  uint64_t host_chunks = 0;              ///< Matched in host memory, per request.
  uint64_t storage_chunks = 0;  ///< Matched on storage, per request: at least reads.size().
  uint64_t missed_chunks = 0;   ///< Not matched.
};

struct MatchOptions {
  size_t begin = 0;
  size_t end = 0;
  size_t reads_max = std::numeric_limits<size_t>::max();
};

/// Matches the prefixes of requests [begin, end). A match is the leading run of chunks that are
/// somewhere; the first one that is nowhere ends it. The step ends before a request whose reads
/// would take it above `reads_max`, but has at least one request. Pure but for `place`, asked at
/// most once per request and chunk.
StepDemand MatchPrefixes(const trace::RequestTrace& trace, const MatchOptions& options,
                         const std::function<ChunkPlace(uint64_t id)>& place);

}  // namespace kvstream::cli
