#include "trace/readers.h"

#include <fmt/format.h>

namespace kvstream::trace {

bool BlockRounding::Accept(uint32_t input_tokens, uint32_t block_tokens, uint64_t blocks) {
  const uint64_t floor = input_tokens / block_tokens;
  const uint64_t ceil = floor + (input_tokens % block_tokens != 0 ? 1 : 0);
  may_be_floor_ = may_be_floor_ && blocks == floor;
  may_be_ceil_ = may_be_ceil_ && blocks == ceil;
  return may_be_floor_ || may_be_ceil_;
}

std::string_view BlockRounding::Describe() const {
  if (may_be_floor_ == may_be_ceil_) return "";
  return may_be_ceil_ ? "The final partial block of a prompt is counted as a block."
                      : "Only full blocks of a prompt are counted.";
}

Status CheckChunkTokens(const JsonLines& lines, uint32_t chunk_tokens, uint64_t block_tokens) {
  if (chunk_tokens % block_tokens == 0 || block_tokens % chunk_tokens == 0) return {};
  return lines.Fail(
      fmt::format("chunks of {} tokens cannot be made from blocks of {}; choose a multiple or a "
                  "divisor of the block",
                  chunk_tokens, block_tokens));
}

}  // namespace kvstream::trace
