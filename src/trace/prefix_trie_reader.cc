#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "trace/readers.h"
#include "trace/trace_builder.h"

namespace kvstream::trace {
namespace {

constexpr std::string_view kColumns = "t,in,out,blocks,ref,keep,think,api";
constexpr size_t kColumnCount = 8;

/// One row as it is in the file, checked one value at a time.
struct TrieRow {
  double t_s = 0;
  uint32_t input_tokens = 0;
  uint32_t output_tokens = 0;
  uint64_t blocks = 0;
  std::optional<uint32_t> reference;  // row of the same session
  uint64_t kept_blocks = 0;
  double think_s = 0;
  double api_s = 0;
};

class PrefixTrieReader {
 public:
  PrefixTrieReader(JsonLines& lines, const TraceOptions& options)
      : lines_(lines), options_(options), builder_(lines.name(), options) {}

  Result<RequestTrace> Read() {
    while (!builder_.full()) {
      KVS_TRY_ASSIGN(const std::optional<JsonLines::Object> object, lines_.Next());
      if (!object) break;
      KVS_TRY(ReadSession(*object));
    }
    KVS_TRY_ASSIGN(RequestTrace trace,
                   builder_.Finish(ArrivalClock::kSession, /*has_sessions=*/true));
    if (!rounding_.Describe().empty()) trace.notes.emplace_back(rounding_.Describe());
    return trace;
  }

 private:
  Status ReadSession(const JsonLines::Object& object) {
    KVS_TRY_ASSIGN(const uint64_t block_tokens,
                   lines_.IntegerField(object, "block", {1, kPromptTokensMax}));
    KVS_TRY(CheckChunkTokens(lines_, options_.chunk_tokens, block_tokens));
    block_tokens_ = static_cast<uint32_t>(block_tokens);
    KVS_TRY(CheckColumns(object));
    KVS_TRY(ReadHead(object));
    KVS_TRY_ASSIGN(const JsonLines::Array rows, lines_.ArrayField(object, "r"));
    session_blocks_.clear();
    const uint32_t first_request = builder_.request_count();
    builder_.BeginSession();
    for (const JsonLines::Element element : rows) {
      KVS_TRY_ASSIGN(const TrieRow row, ReadRow(element));
      KVS_TRY(CheckRow(row));
      session_blocks_.push_back(row.blocks);
      SourceRow source{.arrival_s = row.t_s,
                       .input_tokens = row.input_tokens,
                       .output_tokens = row.output_tokens,
                       .think_s = static_cast<float>(row.think_s),
                       .api_s = static_cast<float>(row.api_s)};
      if (session_blocks_.size() == 1) heads_.Share(source);
      if (row.reference) {
        source.parent = first_request + *row.reference;
        source.shared_tokens = static_cast<uint32_t>(
            std::min<uint64_t>(row.kept_blocks * block_tokens_, row.input_tokens));
      }
      builder_.AddRequest(source);
    }
    if (builder_.EndSession() && builder_.request_count() > first_request) {
      heads_.Keep(first_request);
    }
    return {};
  }

  Status ReadHead(const JsonLines::Object& object) {
    if (!options_.shared_heads) return {};
    uint64_t tokens = 0;
    for (const std::string_view field : {"tool", "sys"}) {
      if (!lines_.Has(object, field)) continue;
      KVS_TRY_ASSIGN(const uint64_t part,
                     lines_.IntegerField(object, field, {0, kPromptTokensMax}));
      tokens += part;
    }
    heads_.Begin(tokens);
    return {};
  }

  Status CheckColumns(const JsonLines::Object& object) const {
    KVS_TRY_ASSIGN(const JsonLines::Element columns, lines_.Field(object, "cols"));
    std::string_view text;
    if (columns.get(text) == simdjson::SUCCESS && text == kColumns) return {};
    return lines_.Fail(fmt::format("'cols' must be \"{}\"", kColumns));
  }

  Result<TrieRow> ReadRow(const JsonLines::Element& element) const {
    JsonLines::Array values;
    if (element.get(values) != simdjson::SUCCESS || values.size() != kColumnCount) {
      return FailRow(fmt::format("must be an array of {} numbers ({})", kColumnCount, kColumns));
    }
    TrieRow row;
    KVS_TRY_ASSIGN(row.t_s, lines_.Number(values.at(0), "t"));
    KVS_TRY_ASSIGN(const uint64_t input, lines_.Integer(values.at(1), "in", {0, kPromptTokensMax}));
    KVS_TRY_ASSIGN(const uint64_t output, lines_.Integer(values.at(2), "out", {0, UINT32_MAX}));
    KVS_TRY_ASSIGN(row.blocks, lines_.Integer(values.at(3), "blocks", {0, kPromptTokensMax}));
    int64_t reference = 0;
    if (values.at(4).get(reference) != simdjson::SUCCESS || reference < -1 ||
        reference >= static_cast<int64_t>(session_blocks_.size())) {
      return FailRow("'ref' must be -1 or the number of an earlier row of the session");
    }
    KVS_TRY_ASSIGN(row.kept_blocks, lines_.Integer(values.at(5), "keep", {0, kPromptTokensMax}));
    KVS_TRY_ASSIGN(row.think_s, lines_.Number(values.at(6), "think"));
    KVS_TRY_ASSIGN(row.api_s, lines_.Number(values.at(7), "api"));
    row.input_tokens = static_cast<uint32_t>(input);
    row.output_tokens = static_cast<uint32_t>(output);
    if (reference >= 0) row.reference = static_cast<uint32_t>(reference);
    return row;
  }

  Status CheckRow(const TrieRow& row) {
    if (!rounding_.Accept(row.input_tokens, block_tokens_, row.blocks)) {
      return FailRow(
          fmt::format("has {} blocks for {} tokens in blocks of {}: neither all blocks of every "
                      "prompt nor all full ones so far",
                      row.blocks, row.input_tokens, block_tokens_));
    }
    if (row.reference.has_value() != (row.kept_blocks > 0)) {
      return FailRow("must have 'ref' -1 exactly where 'keep' is 0");
    }
    if (row.reference && row.kept_blocks > std::min(row.blocks, session_blocks_[*row.reference])) {
      return FailRow("keeps more blocks than it or its 'ref' has");
    }
    return {};
  }

  Error FailRow(std::string_view what) const {
    return lines_.Fail(fmt::format("row {} of 'r' {}", session_blocks_.size(), what));
  }

  JsonLines& lines_;
  const TraceOptions& options_;
  TraceBuilder builder_;
  SharedHeads heads_;
  BlockRounding rounding_;
  uint32_t block_tokens_ = 0;
  std::vector<uint64_t> session_blocks_;  // of the rows read so far
};

}  // namespace

Result<RequestTrace> ReadPrefixTrie(JsonLines& lines, const TraceOptions& options) {
  return PrefixTrieReader(lines, options).Read();
}

}  // namespace kvstream::trace
