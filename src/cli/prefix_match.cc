#include "cli/prefix_match.h"

#include <unordered_set>

#include "base/assert.h"

namespace kvstream::cli {
namespace {

struct RequestMatch {
  std::vector<StepChunk> new_reads;
  size_t matched = 0;
  uint64_t host_chunks = 0;
};

RequestMatch Match(const std::vector<uint64_t>& ids, const std::unordered_set<uint64_t>& reads,
                   const std::function<ChunkPlace(uint64_t)>& place) {
  RequestMatch match;
  for (; match.matched < ids.size(); ++match.matched) {
    const uint64_t id = ids[match.matched];
    if (reads.contains(id)) continue;
    const ChunkPlace found = place(id);
    if (found == ChunkPlace::kNowhere) break;
    if (found == ChunkPlace::kHost) {
      ++match.host_chunks;
    } else {
      match.new_reads.push_back({id, static_cast<uint32_t>(match.matched)});
    }
  }
  return match;
}

}  // namespace

StepDemand MatchPrefixes(const trace::RequestTrace& trace, const MatchOptions& options,
                         const std::function<ChunkPlace(uint64_t id)>& place) {
  KVS_ASSERT(options.begin < options.end && options.end <= trace.requests.size());
  StepDemand demand;
  std::unordered_set<uint64_t> reads;
  std::unordered_set<uint64_t> writes;
  std::vector<uint64_t> ids;
  for (demand.end = options.begin; demand.end < options.end; ++demand.end) {
    const trace::Request& request = trace.requests[demand.end];
    trace.ChunkIds(request, ids);
    const RequestMatch match = Match(ids, reads, place);
    const bool fits = demand.reads.size() + match.new_reads.size() <= options.reads_max;
    if (!fits && demand.end > options.begin) break;

    for (const StepChunk& chunk : match.new_reads) {
      reads.insert(chunk.id);
      demand.reads.push_back(chunk);
    }
    for (size_t at = match.matched; at < ids.size(); ++at) {
      if (writes.insert(ids[at]).second) {
        demand.writes.push_back({ids[at], static_cast<uint32_t>(at)});
      }
    }
    const auto context = static_cast<uint32_t>(match.matched) * trace.chunk_tokens;
    // A prompt that is matched to its end still computes its last token.
    const uint32_t new_tokens = request.input_tokens > context ? request.input_tokens - context : 1;
    demand.work.push_back({new_tokens, request.input_tokens - new_tokens});
    demand.host_chunks += match.host_chunks;
    demand.storage_chunks += match.matched - match.host_chunks;
    demand.missed_chunks += ids.size() - match.matched;
  }
  return demand;
}

}  // namespace kvstream::cli
