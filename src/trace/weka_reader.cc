#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "trace/prefix_tree.h"
#include "trace/readers.h"
#include "trace/trace_builder.h"

namespace kvstream::trace {
namespace {

constexpr int kDepthMax = 8;  // of subagents within subagents

/// WEKA session JSON: one conversation an object, a file or a directory of files. Requests are
/// served in the order of the file, those of a subagent where it stands; its clock restarts at 0.
class WekaReader {
 public:
  WekaReader(std::string_view source, const TraceOptions& options)
      : options_(options), builder_(source, options) {}

  Status ReadFile(TextFile file) {
    JsonLines lines(std::move(file.name), std::move(file.text),
                    JsonLines::Layout::kLinesOrOneObject);
    lines_ = &lines;
    bool found = false;
    while (true) {
      KVS_TRY_ASSIGN(const std::optional<JsonLines::Object> object, lines.Next());
      if (!object) break;
      KVS_TRY(ReadConversation(*object));
      found = true;
    }
    if (!found) return lines.Fail("the file is empty; expected a conversation in JSON");
    return {};
  }

  Result<RequestTrace> Finish() {
    KVS_TRY_ASSIGN(RequestTrace trace,
                   builder_.Finish(ArrivalClock::kSession, /*has_sessions=*/true));
    if (!rounding_.Describe().empty()) trace.notes.emplace_back(rounding_.Describe());
    return trace;
  }

 private:
  Status ReadConversation(const JsonLines::Object& object) {
    KVS_TRY_ASSIGN(const uint64_t block_tokens,
                   lines_->IntegerField(object, "block_size", {1, kPromptTokensMax}));
    KVS_TRY(CheckChunkTokens(*lines_, options_.chunk_tokens, block_tokens));
    block_tokens_ = static_cast<uint32_t>(block_tokens);
    KVS_TRY(ReadScope(object));
    if (options_.shared_heads) KVS_TRY(ReadHead(object));
    row_number_ = 0;
    is_first_ = true;
    KVS_TRY(ReadRequests(object, 0));
    if (!is_first_) ++sessions_;
    return {};
  }

  /// Local ids mean nothing outside their conversation.
  Status ReadScope(const JsonLines::Object& object) {
    KVS_TRY_ASSIGN(const std::string_view scope, lines_->TextField(object, "hash_id_scope"));
    if (scope != "local" && scope != "global") {
      return lines_->Fail("'hash_id_scope' must be \"local\" or \"global\"");
    }
    if (scope == "local") local_prefixes_.Clear();
    prefixes_ = scope == "local" ? &local_prefixes_ : &global_prefixes_;
    return {};
  }

  Status ReadHead(const JsonLines::Object& object) {
    uint64_t tokens = 0;
    for (const std::string_view field : {"tool_tokens", "system_tokens"}) {
      if (!lines_->Has(object, field)) continue;
      KVS_TRY_ASSIGN(const uint64_t part,
                     lines_->IntegerField(object, field, {0, kPromptTokensMax}));
      tokens += part;
    }
    heads_.Begin(tokens);
    return {};
  }

  Status ReadRequests(const JsonLines::Object& object, int depth) {
    if (depth > kDepthMax) {
      return Fail(fmt::format("is a subagent more than {} levels deep", kDepthMax));
    }
    KVS_TRY_ASSIGN(const JsonLines::Array requests, lines_->ArrayField(object, "requests"));
    for (const JsonLines::Element element : requests) {
      JsonLines::Object request;
      if (element.get(request) != simdjson::SUCCESS) return Fail("must be an object");
      Result<std::string_view> type = lines_->TextField(request, "type");
      if (!type) return Fail("has no 'type'");
      if (*type == "subagent") {
        KVS_TRY(ReadRequests(request, depth + 1));
      } else {
        KVS_TRY(ReadRequest(request));
        ++row_number_;
      }
    }
    return {};
  }

  Status ReadRequest(const JsonLines::Object& object) {
    Result<SourceRow> parsed = ParseRequest(object);
    if (!parsed) {
      return std::move(parsed).error().WithContext(fmt::format("request {}", row_number_));
    }
    SourceRow row = *parsed;
    KVS_TRY(rounding_.Check(*lines_, row.input_tokens, block_tokens_, ids_.size()));
    const PrefixTree::Match match = prefixes_->Find(ids_);
    row.parent = match.request;
    row.shared_tokens =
        static_cast<uint32_t>(std::min<uint64_t>(match.blocks * block_tokens_, row.input_tokens));
    if (is_first_) heads_.Share(row);
    const std::optional<uint32_t> added = builder_.AddRequestTo(sessions_, row);
    if (added) prefixes_->Add(*added);
    if (added && is_first_) heads_.Keep(*added);
    is_first_ = false;
    return {};
  }

  Result<SourceRow> ParseRequest(const JsonLines::Object& object) {
    SourceRow row;
    KVS_TRY_ASSIGN(row.arrival_s, lines_->NumberField(object, "t"));
    KVS_TRY_ASSIGN(const uint64_t input, lines_->IntegerField(object, "in", {0, kPromptTokensMax}));
    KVS_TRY_ASSIGN(const uint64_t output, lines_->IntegerField(object, "out", {0, UINT32_MAX}));
    row.input_tokens = static_cast<uint32_t>(input);
    row.output_tokens = static_cast<uint32_t>(output);
    KVS_TRY_ASSIGN(row.think_s, OptionalSeconds(object, "think_time"));
    KVS_TRY_ASSIGN(row.api_s, OptionalSeconds(object, "api_time"));
    KVS_TRY_ASSIGN(const JsonLines::Array array, lines_->ArrayField(object, "hash_ids"));
    KVS_TRY(ReadIds(*lines_, array, "hash_ids", ids_));
    return row;
  }

  Result<float> OptionalSeconds(const JsonLines::Object& object, std::string_view field) const {
    if (!lines_->Has(object, field)) return 0.0F;
    KVS_TRY_ASSIGN(const double seconds, lines_->NumberField(object, field));
    return static_cast<float>(seconds);
  }

  Error Fail(std::string_view what) const {
    return lines_->Fail(fmt::format("request {} {}", row_number_, what));
  }

  const TraceOptions& options_;
  TraceBuilder builder_;
  JsonLines* lines_ = nullptr;  // of the file being read
  PrefixTree local_prefixes_;
  PrefixTree global_prefixes_;
  PrefixTree* prefixes_ = nullptr;
  SharedHeads heads_;
  BlockRounding rounding_;
  std::vector<uint64_t> ids_;  // of one request
  uint32_t block_tokens_ = 0;
  uint32_t sessions_ = 0;
  uint64_t row_number_ = 0;  // within the conversation
  bool is_first_ = true;     // no request of the conversation yet
};

}  // namespace

Result<RequestTrace> ReadWeka(std::string_view source, const NextFile& next,
                              const TraceOptions& options) {
  WekaReader reader(source, options);
  while (true) {
    KVS_TRY_ASSIGN(std::optional<TextFile> file, next());
    if (!file) return reader.Finish();
    KVS_TRY(reader.ReadFile(*std::move(file)));
  }
}

}  // namespace kvstream::trace
