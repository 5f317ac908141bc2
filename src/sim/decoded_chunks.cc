#include "sim/decoded_chunks.h"

#include "sim/turn_gate.h"

namespace kvstream::sim {

DecodedChunks::DecodedChunks(const trace::RequestTrace& trace)
    : trace_(trace), next_turn_(NextTurns(trace)), unused_id_(trace.chunk_count) {}

void DecodedChunks::IdsWithAnswer(uint32_t request, std::vector<uint64_t>& ids) {
  const trace::Request& answered = trace_.requests[request];
  trace_.ChunkIds(answered, ids);
  const uint64_t tokens = uint64_t{answered.input_tokens} + answered.output_tokens;
  const size_t prompt_chunks = ids.size();
  const size_t all_chunks = tokens / trace_.chunk_tokens;

  const uint32_t next = next_turn_[request];
  next_ids_.clear();
  if (next < trace_.requests.size() && trace_.requests[next].input_tokens >= tokens) {
    trace_.ChunkIds(trace_.requests[next], next_ids_);
  }
  const bool continued = next_ids_.size() >= all_chunks &&
                         (prompt_chunks == 0 || next_ids_[prompt_chunks - 1] == ids.back());
  for (size_t chunk = prompt_chunks; chunk < all_chunks; ++chunk) {
    ids.push_back(continued ? next_ids_[chunk] : unused_id_++);
  }
}

}  // namespace kvstream::sim
