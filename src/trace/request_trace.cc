#include "trace/request_trace.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/assert.h"
#include "trace/arrivals.h"
#include "trace/csv_lines.h"
#include "trace/files.h"
#include "trace/json_lines.h"
#include "trace/readers.h"
#include "trace/synth.h"

namespace kvstream::trace {
namespace {

struct JsonFormat {
  std::string_view name;
  std::array<std::string_view, 2> fields;  // that only this format has
};

// The first whose fields are all there is meant.
constexpr std::array<JsonFormat, 5> kJsonFormats{{
    {"qwen", {"chat_id", "hash_ids"}},
    {"mooncake", {"input_length", "output_length"}},
    {"prefix-trie", {"cols", "r"}},
    {"weka", {"block_size", "requests"}},
    {"lmcache", {"seq_len", "chunk_hashes"}},
}};

bool IsJson(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  return begin == std::string_view::npos || text[begin] == '{' || text[begin] == '[';
}

Result<std::string> GuessFormat(const TextFile& file) {
  if (!IsJson(file.text)) {
    CsvLines lines(file.name, file.text.substr(0, file.text.find('\n')));
    KVS_TRY(lines.ReadHeader());
    if (std::optional<std::string> dialect = LengthsDialectOf(lines.header())) return *dialect;
    return lines.Fail(fmt::format("neither JSON nor columns of a known format; known: {}",
                                  DescribeLengthsDialects()));
  }
  JsonLines lines(file.name, file.text, JsonLines::Layout::kLinesOrOneObject);
  KVS_TRY_ASSIGN(const std::optional<JsonLines::Object> object, lines.Next());
  if (!object) return lines.Fail("the file is empty; expected JSON objects or a table");
  std::string known;
  for (const JsonFormat& format : kJsonFormats) {
    const auto& [first, second] = format.fields;
    if (lines.Has(*object, first) && lines.Has(*object, second)) return std::string(format.name);
    known += fmt::format(" {} ({}, {})", format.name, first, second);
  }
  return lines.Fail(fmt::format("the fields are those of no known format; known:{}", known));
}

Status CheckOptions(const TraceOptions& options) {
  const std::vector<std::string>& names = FormatNames();
  if (options.chunk_tokens == 0 || options.chunk_tokens > kPromptTokensMax) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("chunk tokens must be from 1 to {}, not {}", kPromptTokensMax,
                             options.chunk_tokens));
  }
  if (options.format != "auto" &&
      std::find(names.begin(), names.end(), options.format) == names.end()) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("unknown trace format '{}'; known: auto {}", options.format,
                             fmt::join(names, " ")));
  }
  return {};
}

/// Files of a trace of which the first has been read already.
NextFile AllOf(TextFile first, std::vector<std::string> paths) {
  auto left = std::make_shared<std::optional<TextFile>>(std::move(first));
  return [left, paths = std::move(paths),
          next = size_t{1}]() mutable -> Result<std::optional<TextFile>> {
    if (*left) return std::exchange(*left, std::nullopt);
    if (next >= paths.size()) return std::optional<TextFile>();
    KVS_TRY_ASSIGN(std::string text, ReadTextFile(paths[next]));
    return std::optional<TextFile>({.name = paths[next++], .text = std::move(text)});
  };
}

Result<RequestTrace> ReadFormat(std::string_view format, std::string_view source, TextFile first,
                                std::vector<std::string> paths, const TraceOptions& options) {
  const bool has_ids = std::any_of(kJsonFormats.begin(), kJsonFormats.end(),
                                   [&](const JsonFormat& known) { return known.name == format; });
  // Mooncake rows may come without ids.
  if (has_ids && format != "mooncake") KVS_TRY(CheckNoPrefixOption(source, options));
  if (format == "weka") return ReadWeka(source, AllOf(std::move(first), paths), options);
  if (format == "lmcache") return ReadLmcache(source, AllOf(std::move(first), paths), options);
  if (paths.size() > 1) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("{}: a {} trace is one file, not a directory", source, format));
  }
  if (format == "mooncake" || format == "qwen" || format == "prefix-trie") {
    JsonLines lines(std::move(first.name), std::move(first.text));
    if (format == "mooncake") return ReadMooncake(lines, options);
    if (format == "qwen") return ReadQwen(lines, options);
    return ReadPrefixTrie(lines, options);
  }
  return ReadLengths(format, std::move(first), options);
}

void NoteCoarseClock(RequestTrace& trace) {
  const double quantum_s = ArrivalQuantum(trace);
  if (quantum_s == 0) return;
  trace.notes.push_back(
      fmt::format("Arrival times come in steps of {:.3g} s, so bursts are an artefact: spread them "
                  "over that time.",
                  quantum_s));
}

Result<RequestTrace> ReadFiles(std::string_view source, TextFile first,
                               std::vector<std::string> paths, const TraceOptions& options) {
  KVS_TRY(CheckOptions(options));
  std::string format = options.format;
  if (format == "auto") {
    KVS_TRY_ASSIGN(format, GuessFormat(first));
  }
  KVS_TRY_ASSIGN(RequestTrace trace,
                 ReadFormat(format, source, std::move(first), std::move(paths), options));
  trace.format = std::move(format);
  NoteCoarseClock(trace);
  return trace;
}

Result<std::vector<std::string>> FilesOf(const std::string& directory,
                                         const TraceOptions& options) {
  KVS_TRY_ASSIGN(std::vector<std::string> paths,
                 FilesIn(directory, {".json", ".json.gz", ".jsonl", ".jsonl.gz"}));
  const auto is_log = [](const std::string& path) {
    return path.find("/lookup_hashes_") != std::string::npos;
  };
  const bool has_logs = std::any_of(paths.begin(), paths.end(), is_log);
  if (options.format == "lmcache" || (options.format == "auto" && has_logs)) {
    std::erase_if(paths, [&](const std::string& path) { return !is_log(path); });
  }
  if (!paths.empty()) return paths;
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("{}: no file is named lookup_hashes_*.jsonl", directory));
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

const std::vector<std::string>& FormatNames() {
  static const std::vector<std::string> names{"mooncake",  "qwen",   "prefix-trie", "weka",
                                              "lmcache",   "azure",  "burstgpt",    "vidur",
                                              "splitwise", "lengths"};
  return names;
}

Result<RequestTrace> ParseTrace(std::string_view name, std::string_view contents,
                                const TraceOptions& options) {
  TextFile file{.name = std::string(name), .text = {}};
  KVS_TRY_ASSIGN(file.text, UnpackText(file.name, std::string(contents)));
  return ReadFiles(name, std::move(file), {}, options);
}

Result<RequestTrace> LoadTrace(std::string_view source, const TraceOptions& options) {
  if (source.starts_with(kBuiltinPrefix)) {
    KVS_TRY(CheckOptions(options));
    KVS_TRY_ASSIGN(RequestTrace trace, GenerateTrace(source, options));
    trace.format = "builtin";
    return trace;
  }
  std::vector<std::string> paths{std::string(source)};
  if (IsDirectory(paths.front())) {
    KVS_TRY_ASSIGN(paths, FilesOf(std::string(source), options));
  }
  TextFile first{.name = paths.front(), .text = {}};
  KVS_TRY_ASSIGN(first.text, ReadTextFile(first.name));
  return ReadFiles(source, std::move(first), std::move(paths), options);
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
