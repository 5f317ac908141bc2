#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "trace/length_rows.h"
#include "trace/prefix_tree.h"
#include "trace/readers.h"
#include "trace/trace_builder.h"

namespace kvstream::trace {
namespace {

constexpr uint64_t kBlockTokensDefault = 512;
constexpr double kMillisecondsPerSecond = 1000;

class MooncakeReader {
 public:
  MooncakeReader(JsonLines& lines, const TraceOptions& options)
      : lines_(lines), options_(options), builder_(lines.name(), options) {}

  Result<RequestTrace> Read() {
    KVS_TRY(CheckNoSessionOptions(lines_.name(), options_));
    while (true) {
      KVS_TRY_ASSIGN(const std::optional<JsonLines::Object> object, lines_.Next());
      if (!object) break;
      KVS_TRY(ReadRow(*object));
    }
    const ArrivalClock clock = timed_ ? ArrivalClock::kTrace : ArrivalClock::kNone;
    KVS_TRY_ASSIGN(RequestTrace trace, builder_.Finish(clock, /*has_sessions=*/false));
    if (!rounding_.Describe().empty()) trace.notes.emplace_back(rounding_.Describe());
    if (lengths_) lengths_->Describe(trace);
    return trace;
  }

 private:
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
    const bool has_ids = lines_.Has(object, "hash_ids");
    if (!first_ && has_ids == lengths_.has_value()) {
      return lines_.Fail("some rows have hash_ids and some have none; give them to all or none");
    }
    first_ = false;
    return has_ids ? AddRow(object, row) : AddLengths(row);
  }

  Status AddRow(const JsonLines::Object& object, SourceRow& row) {
    KVS_TRY(CheckNoPrefixOption(lines_.name(), options_));
    KVS_TRY_ASSIGN(const JsonLines::Array array, lines_.ArrayField(object, "hash_ids"));
    KVS_TRY(ReadIds(lines_, array, "hash_ids", ids_));
    KVS_TRY(rounding_.Check(lines_, row.input_tokens, block_tokens_, ids_.size()));
    const PrefixTree::Match match = prefixes_.Find(ids_);
    row.parent = match.request;
    row.shared_tokens =
        static_cast<uint32_t>(std::min<uint64_t>(match.blocks * block_tokens_, row.input_tokens));
    builder_.BeginSession();
    const std::optional<uint32_t> added = builder_.AddRequest(row);
    if (added) prefixes_.Add(*added);
    builder_.EndSession();
    return {};
  }

  Status AddLengths(const SourceRow& row) {
    if (!lengths_) {
      Result<LengthRows> lengths = LengthRows::Create(options_, /*has_sessions=*/false);
      if (!lengths) {
        return lines_.Fail(fmt::format("no hash_ids: {}", lengths.error().message()));
      }
      lengths_ = *std::move(lengths);
    }
    lengths_->Add(builder_, rows_++, row);
    return {};
  }

  Status ReadTime(const JsonLines::Object& object, SourceRow& row) {
    const bool timed = lines_.Has(object, "timestamp");
    if (!first_ && timed != timed_) {
      return lines_.Fail("some rows have a timestamp and some have none; give it to all or none");
    }
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

  JsonLines& lines_;
  const TraceOptions& options_;
  TraceBuilder builder_;
  PrefixTree prefixes_;
  std::optional<LengthRows> lengths_;  // of a file without hash_ids
  BlockRounding rounding_;
  std::vector<uint64_t> ids_;  // of one row
  uint32_t rows_ = 0;          // without hash_ids
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
