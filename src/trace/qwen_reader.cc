#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "trace/prefix_tree.h"
#include "trace/readers.h"
#include "trace/trace_builder.h"

namespace kvstream::trace {
namespace {

constexpr uint32_t kBlockTokens = 16;

/// Qwen-Bailian usage traces: one request a line, ids of 16-token blocks that say what is in a
/// block, not what comes before it.
class QwenReader {
 public:
  QwenReader(JsonLines& lines, const TraceOptions& options)
      : lines_(lines), options_(options), builder_(lines.name(), options) {}

  Result<RequestTrace> Read() {
    KVS_TRY(CheckChunkTokens(lines_, options_.chunk_tokens, kBlockTokens));
    while (true) {
      KVS_TRY_ASSIGN(const std::optional<JsonLines::Object> object, lines_.Next());
      if (!object) break;
      KVS_TRY(ReadRow(*object));
    }
    KVS_TRY_ASSIGN(RequestTrace trace,
                   builder_.Finish(ArrivalClock::kTrace, /*has_sessions=*/true));
    if (!rounding_.Describe().empty()) trace.notes.emplace_back(rounding_.Describe());
    if (orphans_ > 0) {
      trace.notes.push_back(fmt::format(
          "{} requests continue a chat that is not in the file; each begins a session.", orphans_));
    }
    return trace;
  }

 private:
  Status ReadRow(const JsonLines::Object& object) {
    SourceRow row;
    KVS_TRY_ASSIGN(row.arrival_s, lines_.NumberField(object, "timestamp"));
    if (row.arrival_s < last_arrival_s_) {
      return lines_.Fail("timestamp steps back; sort the file by timestamp (seconds)");
    }
    last_arrival_s_ = row.arrival_s;
    KVS_TRY_ASSIGN(const uint64_t input_tokens,
                   lines_.IntegerField(object, "input_length", {1, kPromptTokensMax}));
    KVS_TRY_ASSIGN(const uint64_t output_tokens,
                   lines_.IntegerField(object, "output_length", {0, UINT32_MAX}));
    KVS_TRY(lines_.IntegerField(object, "turn", {1, UINT32_MAX}));
    row.input_tokens = static_cast<uint32_t>(input_tokens);
    row.output_tokens = static_cast<uint32_t>(output_tokens);
    KVS_TRY_ASSIGN(const JsonLines::Array array, lines_.ArrayField(object, "hash_ids"));
    KVS_TRY(ReadIds(lines_, array, "hash_ids", ids_));
    KVS_TRY(rounding_.Check(lines_, row.input_tokens, kBlockTokens, ids_.size()));
    KVS_TRY_ASSIGN(const uint32_t session, SessionOf(object));
    const PrefixTree::Match match = prefixes_.Find(ids_);
    row.parent = match.request;
    row.shared_tokens =
        static_cast<uint32_t>(std::min<uint64_t>(match.blocks * kBlockTokens, row.input_tokens));
    const std::optional<uint32_t> added = builder_.AddRequestTo(session, row);
    if (added) prefixes_.Add(*added);
    return {};
  }

  Result<uint32_t> SessionOf(const JsonLines::Object& object) {
    KVS_TRY_ASSIGN(const int64_t chat, lines_.SignedField(object, "chat_id", 0));
    KVS_TRY_ASSIGN(const int64_t parent, lines_.SignedField(object, "parent_chat_id", -1));
    uint32_t session = sessions_;
    if (parent >= 0) {
      const auto found = session_of_chat_.find(parent);
      if (found != session_of_chat_.end()) session = found->second;
      orphans_ += found == session_of_chat_.end() ? 1 : 0;
    }
    if (!session_of_chat_.emplace(chat, session).second) {
      return lines_.Fail(fmt::format("chat_id {} is there twice", chat));
    }
    if (session == sessions_) ++sessions_;
    return session;
  }

  JsonLines& lines_;
  const TraceOptions& options_;
  TraceBuilder builder_;
  PrefixTree prefixes_;
  BlockRounding rounding_;
  std::unordered_map<int64_t, uint32_t> session_of_chat_;
  std::vector<uint64_t> ids_;  // of one row
  uint32_t sessions_ = 0;
  uint64_t orphans_ = 0;
  double last_arrival_s_ = 0;
};

}  // namespace

Result<RequestTrace> ReadQwen(JsonLines& lines, const TraceOptions& options) {
  return QwenReader(lines, options).Read();
}

}  // namespace kvstream::trace
