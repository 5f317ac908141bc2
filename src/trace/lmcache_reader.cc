#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "trace/prefix_tree.h"
#include "trace/readers.h"
#include "trace/trace_builder.h"

namespace kvstream::trace {
namespace {

constexpr uint64_t kChunkBytesMax = uint64_t{1} << 40;

struct ElementType {
  std::string_view name;  // or its beginning, where it ends in '_'
  uint64_t bytes;
};

constexpr std::array<ElementType, 9> kElementTypes{{{"float32", 4},
                                                    {"float", 4},
                                                    {"float16", 2},
                                                    {"half", 2},
                                                    {"bfloat16", 2},
                                                    {"float8_", 1},
                                                    {"fp8_", 1},
                                                    {"int8", 1},
                                                    {"uint8", 1}}};

/// Bytes of one element; none for a type that is not known.
std::optional<uint64_t> ElementBytes(std::string_view type) {
  constexpr std::string_view kTorch = "torch.";
  if (type.starts_with(kTorch)) type.remove_prefix(kTorch.size());
  for (const ElementType& known : kElementTypes) {
    const bool matches =
        known.name.ends_with('_') ? type.starts_with(known.name) : type == known.name;
    if (matches) return known.bytes;
  }
  return std::nullopt;
}

struct Lookup {
  double timestamp_s = 0;
  uint32_t input_tokens = 0;
  std::vector<uint32_t> chunks;  // numbers of the hashes
};

/// LMCache's lookup hashes: a line for each prompt that was looked up, the hashes of its full
/// chunks in order. Files are rotated, and written by several workers, so rows are sorted by time.
class LmcacheReader {
 public:
  LmcacheReader(std::string_view source, const TraceOptions& options)
      : source_(source), options_(options) {}

  Status ReadFile(TextFile file) {
    JsonLines lines(std::move(file.name), std::move(file.text));
    while (true) {
      KVS_TRY_ASSIGN(const std::optional<JsonLines::Object> object, lines.Next());
      if (!object) return {};
      KVS_TRY(ReadRow(lines, *object));
    }
  }

  Result<RequestTrace> Finish() {
    if (lookups_.empty() && !options_.model.empty() && !model_.empty()) {
      return Invalid(
          fmt::format("no row is of model '{}'; one is of '{}'", options_.model, model_));
    }
    std::stable_sort(lookups_.begin(), lookups_.end(), [](const Lookup& a, const Lookup& b) {
      return a.timestamp_s < b.timestamp_s;
    });
    TraceBuilder builder(source_, options_);
    for (const Lookup& lookup : lookups_) Add(builder, lookup);
    KVS_TRY_ASSIGN(RequestTrace trace, builder.Finish(ArrivalClock::kTrace, /*has_sessions=*/true));
    if (!rounding_.Describe().empty()) trace.notes.emplace_back(rounding_.Describe());
    trace.notes.emplace_back(
        "The log names no sessions: a prompt that begins with all chunks of an earlier one "
        "continues its session.");
    if (options_.output_tokens == 0) {
      trace.notes.emplace_back("The log has no output lengths: they are 0 unless one is given.");
    }
    trace.chunk_bytes = chunk_bytes_ / chunk_tokens_ * options_.chunk_tokens;
    return trace;
  }

 private:
  Status ReadRow(const JsonLines& lines, const JsonLines::Object& object) {
    KVS_TRY_ASSIGN(const std::string_view model, lines.TextField(object, "model_name"));
    if (!options_.model.empty() && model != options_.model) {
      model_ = model;
      return {};
    }
    if (!lookups_.empty() && model != model_) {
      return lines.Fail(fmt::format("model '{}' after '{}'; choose one", model, model_));
    }
    model_ = model;
    Lookup lookup;
    KVS_TRY_ASSIGN(lookup.timestamp_s, lines.NumberField(object, "timestamp"));
    KVS_TRY_ASSIGN(const uint64_t input_tokens,
                   lines.IntegerField(object, "seq_len", {0, kPromptTokensMax}));
    lookup.input_tokens = static_cast<uint32_t>(input_tokens);
    KVS_TRY(lines.TextField(object, "request_id"));
    KVS_TRY(ReadChunkSize(lines, object));
    KVS_TRY_ASSIGN(const JsonLines::Array hashes, lines.ArrayField(object, "chunk_hashes"));
    for (const JsonLines::Element element : hashes) {
      KVS_TRY_ASSIGN(const std::string_view hash, lines.Text(element, "chunk_hashes"));
      const auto number = static_cast<uint32_t>(numbers_.size());
      lookup.chunks.push_back(numbers_.try_emplace(std::string(hash), number).first->second);
    }
    if (!rounding_.Accept(lookup.input_tokens, chunk_tokens_, lookup.chunks.size())) {
      return lines.Fail(fmt::format("{} chunk_hashes for {} tokens in chunks of {}",
                                    lookup.chunks.size(), lookup.input_tokens, chunk_tokens_));
    }
    lookups_.push_back(std::move(lookup));
    return {};
  }

  Status ReadChunkSize(const JsonLines& lines, const JsonLines::Object& object) {
    KVS_TRY_ASSIGN(const uint64_t chunk_tokens,
                   lines.IntegerField(object, "chunk_size", {1, kPromptTokensMax}));
    uint64_t chunk_bytes = options_.source_chunk_bytes;
    if (chunk_bytes == 0) {
      KVS_TRY_ASSIGN(chunk_bytes, ReadChunkBytes(lines, object));
    }
    if (lookups_.empty()) {
      KVS_TRY(CheckChunkTokens(lines, options_.chunk_tokens, chunk_tokens));
      chunk_tokens_ = static_cast<uint32_t>(chunk_tokens);
      chunk_bytes_ = chunk_bytes;
    }
    if (chunk_tokens == chunk_tokens_ && chunk_bytes == chunk_bytes_) return {};
    return lines.Fail(fmt::format("chunks of {} tokens and {} bytes after chunks of {} and {}",
                                  chunk_tokens, chunk_bytes, chunk_tokens_, chunk_bytes_));
  }

  /// Σ product(shape) × element size, one pair a tensor.
  Result<uint64_t> ReadChunkBytes(const JsonLines& lines, const JsonLines::Object& object) const {
    KVS_TRY_ASSIGN(const JsonLines::Array types, lines.ArrayField(object, "dtypes"));
    KVS_TRY_ASSIGN(const JsonLines::Array shapes, lines.ArrayField(object, "shapes"));
    if (types.size() != shapes.size() || types.size() == 0) {
      return lines.Fail("'dtypes' and 'shapes' must be as many, and at least one");
    }
    uint64_t bytes = 0;
    for (size_t i = 0; i < types.size(); ++i) {
      KVS_TRY_ASSIGN(const std::string_view type, lines.Text(types.at(i), "dtypes"));
      const std::optional<uint64_t> element_bytes = ElementBytes(type);
      if (!element_bytes) {
        return lines.Fail(fmt::format("unknown dtype '{}'; give the bytes of a chunk", type));
      }
      JsonLines::Array shape;
      if (shapes.at(i).get(shape) != simdjson::SUCCESS) {
        return lines.Fail("'shapes' must be an array of arrays");
      }
      uint64_t tensor_bytes = *element_bytes;
      for (const JsonLines::Element element : shape) {
        KVS_TRY_ASSIGN(const uint64_t size, lines.Integer(element, "shapes", {1, kChunkBytesMax}));
        if (size > kChunkBytesMax / tensor_bytes) return lines.Fail("a chunk of more than 1 TiB");
        tensor_bytes *= size;
      }
      bytes += tensor_bytes;
      if (bytes > kChunkBytesMax) return lines.Fail("a chunk of more than 1 TiB");
    }
    return bytes;
  }

  void Add(TraceBuilder& builder, const Lookup& lookup) {
    const std::vector<uint64_t> ids(lookup.chunks.begin(), lookup.chunks.end());
    const PrefixTree::Match match = prefixes_.Find(ids);
    const bool continues = match.continued != SourceRow::kNoParent;
    const uint32_t session = continues ? session_of_request_[match.continued] : sessions_++;
    const uint64_t shared_tokens = match.blocks * chunk_tokens_;
    const std::optional<uint32_t> added = builder.AddRequestTo(
        session, {.arrival_s = lookup.timestamp_s - lookups_.front().timestamp_s,
                  .input_tokens = lookup.input_tokens,
                  .output_tokens = options_.output_tokens,
                  .parent = match.request,
                  .shared_tokens = static_cast<uint32_t>(
                      std::min<uint64_t>(shared_tokens, lookup.input_tokens))});
    if (!added) return;
    prefixes_.Add(*added);
    session_of_request_.push_back(session);
  }

  Error Invalid(std::string_view what) const {
    return Error(ErrorCode::kInvalidArgument, fmt::format("{}: {}", source_, what));
  }

  std::string source_;
  const TraceOptions& options_;
  std::string model_;                                  // of the last row
  std::unordered_map<std::string, uint32_t> numbers_;  // by hash
  std::vector<Lookup> lookups_;
  BlockRounding rounding_;
  PrefixTree prefixes_;
  std::vector<uint32_t> session_of_request_;
  uint32_t sessions_ = 0;
  uint32_t chunk_tokens_ = 1;
  uint64_t chunk_bytes_ = 0;
};

}  // namespace

Result<RequestTrace> ReadLmcache(std::string_view source, const NextFile& next,
                                 const TraceOptions& options) {
  LmcacheReader reader(source, options);
  while (true) {
    KVS_TRY_ASSIGN(std::optional<TextFile> file, next());
    if (!file) return reader.Finish();
    KVS_TRY(reader.ReadFile(*std::move(file)));
  }
}

}  // namespace kvstream::trace
