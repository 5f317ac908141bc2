#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kvstream/status.h"

#include "trace/json_lines.h"
#include "trace/request_trace.h"
#include "trace/trace_builder.h"

namespace kvstream::trace {

// One function a format. Each reads lines from the first to the last needed and returns a trace
// without its format. Errors as in LoadTrace. Pure but for the position in `lines`.

Result<RequestTrace> ReadMooncake(JsonLines& lines, const TraceOptions& options);
Result<RequestTrace> ReadPrefixTrie(JsonLines& lines, const TraceOptions& options);
Result<RequestTrace> ReadQwen(JsonLines& lines, const TraceOptions& options);

struct TextFile {
  std::string name;
  std::string text;
};

/// The next file of a trace that has several; none at the end.
using NextFile = std::function<Result<std::optional<TextFile>>()>;

Result<RequestTrace> ReadWeka(std::string_view source, const NextFile& next,
                              const TraceOptions& options);
Result<RequestTrace> ReadLmcache(std::string_view source, const NextFile& next,
                                 const TraceOptions& options);

/// Files with lengths only. `format` is the name of a dialect.
Result<RequestTrace> ReadLengths(std::string_view format, TextFile file,
                                 const TraceOptions& options);
/// The dialect that has these columns.
std::optional<std::string> LengthsDialectOf(const std::vector<std::string>& header);
/// Names of all dialects, each with its columns.
std::string DescribeLengthsDialects();

/// Finds out whether the block counts of a file include the final partial block: some tools count
/// it, some do not, and taking one for the other shifts every prefix.
class BlockRounding {
 public:
  /// False if no one rule fits this and all earlier prompts.
  bool Accept(uint32_t input_tokens, uint32_t block_tokens, uint64_t blocks);
  /// The same as a Status that names the line.
  Status Check(const JsonLines& lines, uint32_t input_tokens, uint32_t block_tokens,
               uint64_t blocks);
  /// A sentence for RequestTrace::notes; empty while both are possible.
  std::string_view Describe() const;

 private:
  bool may_be_floor_ = true;
  bool may_be_ceil_ = true;
};

/// Lets all sessions begin with the same tool definitions and system prompt, as far as they have
/// one: TraceOptions::shared_heads. Does nothing before the first Begin.
class SharedHeads {
 public:
  /// A session begins whose first prompt starts with a head of that many tokens.
  void Begin(uint64_t head_tokens) { tokens_ = head_tokens; }
  /// Makes the session's first request share what is known of the head, if that is more than it
  /// shares already.
  void Share(SourceRow& row);
  /// The session's first request is in the trace, as `request`.
  void Keep(uint32_t request);

 private:
  uint64_t tokens_ = 0;  // of the session that began last
  uint32_t input_tokens_ = 0;
  uint32_t holder_ = SourceRow::kNoParent;  // has the longest head so far
  uint64_t holder_tokens_ = 0;
};

/// kInvalidArgument if options choose or order by sessions that the format does not have.
Status CheckNoSessionOptions(std::string_view name, const TraceOptions& options);

/// kInvalidArgument if options make up prefixes for a format that has them.
Status CheckNoPrefixOption(std::string_view name, const TraceOptions& options);

/// Replaces `ids` by the integers of an array.
Status ReadIds(const JsonLines& lines, const JsonLines::Array& array, std::string_view what,
               std::vector<uint64_t>& ids);

/// Chunks must be made of whole blocks, or blocks of whole chunks.
Status CheckChunkTokens(const JsonLines& lines, uint32_t chunk_tokens, uint64_t block_tokens);

}  // namespace kvstream::trace
