#include "trace/request_trace.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/assert.h"
#include "trace/files.h"
#include "trace/readers.h"
#include "trace/synth.h"

namespace kvstream::trace {
namespace {

Result<std::string> GuessFormat(JsonLines& lines) {
  KVS_TRY_ASSIGN(const std::optional<JsonLines::Object> object, lines.Next());
  if (!object) return lines.Fail("the file is empty; expected one JSON object a line");
  std::string guess;
  if (lines.Has(*object, "cols") && lines.Has(*object, "r")) guess = "prefix-trie";
  if (lines.Has(*object, "input_length") && !lines.Has(*object, "chat_id")) guess = "mooncake";
  if (guess.empty()) {
    return lines.Fail(
        "the fields are those of no known format; known: mooncake (timestamp, input_length, "
        "output_length, hash_ids), prefix-trie (block, cols, r)");
  }
  lines.Rewind();
  return guess;
}

Status CheckOptions(const TraceOptions& options) {
  if (options.chunk_tokens > 0 && options.chunk_tokens <= kPromptTokensMax) return {};
  return Error(ErrorCode::kInvalidArgument, fmt::format("chunk tokens must be from 1 to {}, not {}",
                                                        kPromptTokensMax, options.chunk_tokens));
}

Result<RequestTrace> ReadFormat(std::string_view format, JsonLines& lines,
                                const TraceOptions& options) {
  if (format == "mooncake") return ReadMooncake(lines, options);
  if (format == "prefix-trie") return ReadPrefixTrie(lines, options);
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("unknown trace format '{}'; known: auto mooncake prefix-trie", format));
}

}  // namespace

void RequestTrace::ChunkIds(const Request& request, std::vector<uint64_t>& ids) const {
  ids.resize(request.chunk_count);
  uint32_t end = request.chunk_count;
  for (uint32_t run = request.run; end > 0; run = runs[run].parent) {
    KVS_ASSERT(run < runs.size());
    const ChunkRun& part = runs[run];
    for (uint32_t chunk = part.begin; chunk < end; ++chunk) {
      ids[chunk] = part.first_id + (chunk - part.begin);
    }
    end = part.begin;
  }
}

Result<RequestTrace> ParseTrace(std::string_view name, std::string_view contents,
                                const TraceOptions& options) {
  KVS_TRY(CheckOptions(options));
  KVS_TRY_ASSIGN(std::string text, UnpackText(std::string(name), std::string(contents)));
  JsonLines lines(std::string(name), std::move(text));
  std::string format = options.format;
  if (format == "auto") {
    KVS_TRY_ASSIGN(format, GuessFormat(lines));
  }
  KVS_TRY_ASSIGN(RequestTrace trace, ReadFormat(format, lines, options));
  trace.format = std::move(format);
  return trace;
}

Result<RequestTrace> LoadTrace(std::string_view source, const TraceOptions& options) {
  if (source.starts_with(kBuiltinPrefix)) {
    KVS_TRY(CheckOptions(options));
    KVS_TRY_ASSIGN(RequestTrace trace, GenerateTrace(source, options));
    trace.format = "builtin";
    return trace;
  }
  KVS_TRY_ASSIGN(const std::string contents, ReadTextFile(std::string(source)));
  return ParseTrace(source, contents, options);
}

TraceSummary Summarize(const RequestTrace& trace) {
  TraceSummary summary;
  summary.requests = trace.requests.size();
  summary.sessions = trace.session_count;
  summary.unique_chunks = trace.chunk_count;
  for (const Request& request : trace.requests) {
    summary.input_tokens += request.input_tokens;
    summary.output_tokens += request.output_tokens;
    summary.chunk_accesses += request.chunk_count;
    summary.tail_tokens += request.tail_tokens;
    summary.lost_tokens += request.lost_tokens;
  }
  if (summary.chunk_accesses > 0) {
    summary.reuse = 1 - static_cast<double>(summary.unique_chunks) /
                            static_cast<double>(summary.chunk_accesses);
  }
  return summary;
}

}  // namespace kvstream::trace
