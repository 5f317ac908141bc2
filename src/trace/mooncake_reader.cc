#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "trace/readers.h"
#include "trace/trace_builder.h"

namespace kvstream::trace {
namespace {

constexpr uint64_t kBlockTokensDefault = 512;
constexpr double kMillisecondsPerSecond = 1000;

/// Every prefix seen so far, block by block. A prefix is known by the one a block shorter and its
/// last id, so ids may be chained hashes or plain content. Remembers which request brought a
/// prefix.
class PrefixTree {
 public:
  struct Match {
    uint32_t request = SourceRow::kNoParent;  // the request that brought the prefix
    uint64_t blocks = 0;
  };

  /// The longest known prefix of the prompts with `ids`.
  Result<Match> Find(const JsonLines& lines, const JsonLines::Array& ids) {
    Match match;
    matched_node_ = kRoot;
    unmatched_.clear();
    for (const JsonLines::Element id_element : ids) {
      KVS_TRY_ASSIGN(const uint64_t id, lines.Integer(id_element, "hash_ids", {}));
      const auto child = unmatched_.empty() ? children_.find({matched_node_, id}) : children_.end();
      if (child == children_.end()) {
        unmatched_.push_back(id);
        continue;
      }
      matched_node_ = child->second;
      match = {.request = bringers_[matched_node_], .blocks = match.blocks + 1};
    }
    return match;
  }

  /// Adds the prompt of the last Find as `request`.
  void Add(uint32_t request) {
    uint32_t node = matched_node_;
    for (const uint64_t id : unmatched_) {
      const auto child = static_cast<uint32_t>(bringers_.size());
      children_.emplace(Edge{node, id}, child);
      bringers_.push_back(request);
      node = child;
    }
  }

 private:
  static constexpr uint32_t kRoot = 0;

  struct Edge {
    uint32_t parent;
    uint64_t id;
    bool operator==(const Edge&) const = default;
  };
  struct EdgeHash {
    size_t operator()(const Edge& edge) const {
      uint64_t hash = edge.id * 0x9e3779b97f4a7c15u ^ edge.parent;
      hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93u;
      return static_cast<size_t>(hash ^ (hash >> 32));
    }
  };

  std::unordered_map<Edge, uint32_t, EdgeHash> children_;
  std::vector<uint32_t> bringers_{SourceRow::kNoParent};  // by node
  // Of the last prompt: where its known prefix ends, and the ids after it.
  uint32_t matched_node_ = kRoot;
  std::vector<uint64_t> unmatched_;
};

class MooncakeReader {
 public:
  MooncakeReader(JsonLines& lines, const TraceOptions& options)
      : lines_(lines), options_(options), builder_(lines.name(), options) {}

  Result<RequestTrace> Read() {
    KVS_TRY(CheckOptions());
    while (true) {
      KVS_TRY_ASSIGN(const std::optional<JsonLines::Object> object, lines_.Next());
      if (!object) break;
      KVS_TRY(ReadRow(*object));
    }
    const ArrivalClock clock = timed_ ? ArrivalClock::kTrace : ArrivalClock::kNone;
    KVS_TRY_ASSIGN(RequestTrace trace, builder_.Finish(clock, /*has_sessions=*/false));
    if (!rounding_.Describe().empty()) trace.notes.emplace_back(rounding_.Describe());
    return trace;
  }

 private:
  Status CheckOptions() const {
    if (options_.order == Order::kRoundRobin || options_.order == Order::kInterleave ||
        options_.sessions_max != 0 || options_.session_turns_min > 1) {
      return lines_.Fail(
          "a mooncake trace has no sessions, so it cannot be ordered or limited by them; "
          "use the recorded order and a limit on requests");
    }
    return {};
  }

  Status ReadRow(const JsonLines::Object& object) {
    SourceRow row;
    KVS_TRY(ReadTime(object, row));
    KVS_TRY_ASSIGN(const uint64_t input_tokens,
                   lines_.IntegerField(object, "input_length", {1, kPromptTokensMax}));
    KVS_TRY_ASSIGN(const uint64_t output_tokens,
                   lines_.IntegerField(object, "output_length", {0, UINT32_MAX}));
    row.input_tokens = static_cast<uint32_t>(input_tokens);
    row.output_tokens = static_cast<uint32_t>(output_tokens);
    KVS_TRY(ReadBlockSize(object));
    if (!lines_.Has(object, "hash_ids")) {
      return lines_.Fail(
          "no hash_ids: lengths alone do not say which prefixes are shared, and every hit ratio "
          "would be 0; use a trace with hash_ids, or builtin:chat, builtin:agent, builtin:docs");
    }
    KVS_TRY_ASSIGN(const JsonLines::Array ids, lines_.ArrayField(object, "hash_ids"));
    KVS_TRY_ASSIGN(const PrefixTree::Match match, prefixes_.Find(lines_, ids));
    KVS_TRY(CheckBlocks(row, ids.size()));
    row.parent = match.request;
    row.shared_tokens =
        static_cast<uint32_t>(std::min<uint64_t>(match.blocks * block_tokens_, input_tokens));
    builder_.BeginSession();
    const std::optional<uint32_t> added = builder_.AddRequest(row);
    if (added) prefixes_.Add(*added);
    builder_.EndSession();
    return {};
  }

  Status ReadTime(const JsonLines::Object& object, SourceRow& row) {
    const bool timed = lines_.Has(object, "timestamp");
    if (!first_ && timed != timed_) {
      return lines_.Fail("some rows have a timestamp and some have none; give it to all or none");
    }
    first_ = false;
    timed_ = timed;
    if (!timed) return {};
    KVS_TRY_ASSIGN(const double milliseconds, lines_.NumberField(object, "timestamp"));
    row.arrival_s = milliseconds / kMillisecondsPerSecond;
    if (row.arrival_s < last_arrival_s_) {
      return lines_.Fail("timestamp steps back; sort the file by timestamp (milliseconds)");
    }
    last_arrival_s_ = row.arrival_s;
    return {};
  }

  Status ReadBlockSize(const JsonLines::Object& object) {
    uint64_t block_tokens = kBlockTokensDefault;
    if (lines_.Has(object, "block_size")) {
      KVS_TRY_ASSIGN(block_tokens,
                     lines_.IntegerField(object, "block_size", {1, kPromptTokensMax}));
    }
    if (block_tokens == block_tokens_) return {};
    if (block_tokens_ != 0) {
      return lines_.Fail(fmt::format("blocks of {} tokens after blocks of {}; split the file",
                                     block_tokens, block_tokens_));
    }
    KVS_TRY(CheckChunkTokens(lines_, options_.chunk_tokens, block_tokens));
    block_tokens_ = static_cast<uint32_t>(block_tokens);
    return {};
  }

  Status CheckBlocks(const SourceRow& row, uint64_t blocks) {
    if (rounding_.Accept(row.input_tokens, block_tokens_, blocks)) return {};
    return lines_.Fail(
        fmt::format("{} hash_ids for {} tokens in blocks of {}: neither all blocks of every prompt "
                    "nor all full ones so far; check block_size",
                    blocks, row.input_tokens, block_tokens_));
  }

  JsonLines& lines_;
  const TraceOptions& options_;
  TraceBuilder builder_;
  PrefixTree prefixes_;
  BlockRounding rounding_;
  uint32_t block_tokens_ = 0;
  double last_arrival_s_ = 0;
  bool first_ = true;
  bool timed_ = false;
};

}  // namespace

Result<RequestTrace> ReadMooncake(JsonLines& lines, const TraceOptions& options) {
  return MooncakeReader(lines, options).Read();
}

}  // namespace kvstream::trace
