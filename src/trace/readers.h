#pragma once

#include <cstdint>
#include <string_view>

#include "kvstream/status.h"

#include "trace/json_lines.h"
#include "trace/request_trace.h"

namespace kvstream::trace {

// One function a format. Each reads lines from the first to the last needed and returns a trace
// without its format. Errors as in LoadTrace. Pure but for the position in `lines`.

Result<RequestTrace> ReadMooncake(JsonLines& lines, const TraceOptions& options);
Result<RequestTrace> ReadPrefixTrie(JsonLines& lines, const TraceOptions& options);

/// Finds out whether the block counts of a file include the final partial block: some tools count
/// it, some do not, and taking one for the other shifts every prefix.
class BlockRounding {
 public:
  /// False if no one rule fits this and all earlier prompts.
  bool Accept(uint32_t input_tokens, uint32_t block_tokens, uint64_t blocks);
  /// A sentence for RequestTrace::notes; empty while both are possible.
  std::string_view Describe() const;

 private:
  bool may_be_floor_ = true;
  bool may_be_ceil_ = true;
};

/// Chunks must be made of whole blocks, or blocks of whole chunks.
Status CheckChunkTokens(const JsonLines& lines, uint32_t chunk_tokens, uint64_t block_tokens);

}  // namespace kvstream::trace
