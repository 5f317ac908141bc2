#pragma once

#include <cstdint>
#include <vector>

#include "trace/request_trace.h"

namespace kvstream::sim {

/// Names the chunks that an answer completes. Where the session's next turn has prompt and answer
/// at its head they are that turn's chunks, else chunks that nothing will ask for. Not thread-safe.
class DecodedChunks {
 public:
  /// `trace` outlives this.
  explicit DecodedChunks(const trace::RequestTrace& trace);

  /// Replaces `ids` by the request's chunks and those that its answer completes, in prefix order.
  void IdsWithAnswer(uint32_t request, std::vector<uint64_t>& ids);

 private:
  const trace::RequestTrace& trace_;
  std::vector<uint32_t> next_turn_;
  std::vector<uint64_t> next_ids_;  // scratch
  uint64_t unused_id_;
};

}  // namespace kvstream::sim
