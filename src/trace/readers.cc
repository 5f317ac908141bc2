#include "trace/readers.h"

#include <algorithm>

#include <fmt/format.h>

namespace kvstream::trace {

bool BlockRounding::Accept(uint32_t input_tokens, uint32_t block_tokens, uint64_t blocks) {
  const uint64_t floor = input_tokens / block_tokens;
  const uint64_t ceil = floor + (input_tokens % block_tokens != 0 ? 1 : 0);
  may_be_floor_ = may_be_floor_ && blocks == floor;
  may_be_ceil_ = may_be_ceil_ && blocks == ceil;
  return may_be_floor_ || may_be_ceil_;
}

Status BlockRounding::Check(const JsonLines& lines, uint32_t input_tokens, uint32_t block_tokens,
                            uint64_t blocks) {
  if (Accept(input_tokens, block_tokens, blocks)) return {};
  return lines.Fail(
      fmt::format("{} hash_ids for {} tokens in blocks of {}: neither all blocks of every prompt "
                  "nor all full ones so far; check block_size",
                  blocks, input_tokens, block_tokens));
}

std::string_view BlockRounding::Describe() const {
  if (may_be_floor_ == may_be_ceil_) return "";
  return may_be_ceil_ ? "The final partial block of a prompt is counted as a block."
                      : "Only full blocks of a prompt are counted.";
}

void SharedHeads::Share(SourceRow& row) {
  input_tokens_ = row.input_tokens;
  const uint64_t shared = std::min({tokens_, holder_tokens_, uint64_t{row.input_tokens}});
  if (holder_ == SourceRow::kNoParent || shared <= row.shared_tokens) return;
  row.parent = holder_;
  row.shared_tokens = static_cast<uint32_t>(shared);
}

void SharedHeads::Keep(uint32_t request) {
  const uint64_t tokens = std::min(tokens_, uint64_t{input_tokens_});
  if (tokens <= holder_tokens_) return;
  holder_ = request;
  holder_tokens_ = tokens;
}

Status CheckNoSessionOptions(std::string_view name, const TraceOptions& options) {
  if (options.order == Order::kRoundRobin || options.order == Order::kInterleave ||
      options.sessions_max != 0 || options.session_turns_min > 1) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("{}: the trace has no sessions, so it cannot be ordered or limited by "
                             "them; use the recorded order and a limit on requests",
                             name));
  }
  return {};
}

Status CheckNoPrefixOption(std::string_view name, const TraceOptions& options) {
  if (options.prefixes.empty()) return {};
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("{}: prefixes '{}' are for files that have lengths only; this one says "
                           "what its prompts share",
                           name, options.prefixes));
}

Status ReadIds(const JsonLines& lines, const JsonLines::Array& array, std::string_view what,
               std::vector<uint64_t>& ids) {
  ids.clear();
  for (const JsonLines::Element element : array) {
    KVS_TRY_ASSIGN(const uint64_t id, lines.Integer(element, what, {}));
    ids.push_back(id);
  }
  return {};
}

Status CheckChunkTokens(const JsonLines& lines, uint32_t chunk_tokens, uint64_t block_tokens) {
  if (chunk_tokens % block_tokens == 0 || block_tokens % chunk_tokens == 0) return {};
  return lines.Fail(
      fmt::format("chunks of {} tokens cannot be made from blocks of {}; choose a multiple or a "
                  "divisor of the block",
                  chunk_tokens, block_tokens));
}

}  // namespace kvstream::trace
