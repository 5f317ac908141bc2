#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/assert.h"
#include "trace/calendar_time.h"
#include "trace/csv_lines.h"
#include "trace/length_rows.h"
#include "trace/readers.h"
#include "trace/trace_builder.h"

namespace kvstream::trace {
namespace {

enum class TimeUnit : uint8_t { kNone, kSeconds, kCalendar };

struct Dialect {
  std::string_view name;
  std::string_view time;  // names of columns
  std::string_view input;
  std::string_view output;
  std::string_view session;  // empty if the dialect has none
  TimeUnit unit;
};

// The first whose columns are all there is meant.
constexpr std::array<Dialect, 5> kDialects{{
    {"azure", "TIMESTAMP", "ContextTokens", "GeneratedTokens", "", TimeUnit::kCalendar},
    {"burstgpt", "Timestamp", "Request tokens", "Response tokens", "Session ID",
     TimeUnit::kSeconds},
    {"vidur", "arrived_at", "num_prefill_tokens", "num_decode_tokens", "", TimeUnit::kSeconds},
    {"splitwise", "arrival_timestamp", "prompt_size", "token_size", "", TimeUnit::kSeconds},
    {"lengths", "", "num_prefill_tokens", "num_decode_tokens", "", TimeUnit::kNone},
}};

const Dialect* FindDialect(std::string_view name) {
  const auto* const found =
      std::find_if(kDialects.begin(), kDialects.end(),
                   [name](const Dialect& dialect) { return dialect.name == name; });
  return found == kDialects.end() ? nullptr : found;
}

class LengthsReader {
 public:
  LengthsReader(const Dialect& dialect, CsvLines& lines, const std::string& name,
                const TraceOptions& options)
      : dialect_(dialect), lines_(lines), name_(name), options_(options), builder_(name, options) {}

  Result<RequestTrace> Read() {
    KVS_TRY(lines_.ReadHeader());
    KVS_TRY(FindColumns());
    if (!session_column_) KVS_TRY(CheckNoSessionOptions(name_, options_));
    Result<LengthRows> lengths = LengthRows::Create(options_, session_column_.has_value());
    if (!lengths) return lines_.Fail(lengths.error().message());
    while (true) {
      KVS_TRY_ASSIGN(const std::optional<CsvLines::Row> row, lines_.Next());
      if (!row) break;
      KVS_TRY(ReadRow(*row, *lengths));
    }
    const ArrivalClock clock =
        dialect_.unit == TimeUnit::kNone ? ArrivalClock::kNone : ArrivalClock::kTrace;
    KVS_TRY_ASSIGN(RequestTrace trace, builder_.Finish(clock, session_column_.has_value()));
    lengths->Describe(trace);
    if (failed_calls_ > 0) {
      trace.notes.push_back(fmt::format(
          "{} rows without prompt or answer are left out: failed calls.", failed_calls_));
    }
    return trace;
  }

 private:
  Status FindColumns() {
    if (dialect_.unit != TimeUnit::kNone) {
      KVS_TRY_ASSIGN(time_column_, lines_.Column(dialect_.time));
    }
    KVS_TRY_ASSIGN(input_column_, lines_.Column(dialect_.input));
    KVS_TRY_ASSIGN(output_column_, lines_.Column(dialect_.output));
    // Early files of a dialect with sessions lack the column.
    if (!dialect_.session.empty() && lines_.HasColumn(dialect_.session)) {
      KVS_TRY_ASSIGN(session_column_, lines_.Column(dialect_.session));
    }
    return {};
  }

  Status ReadRow(const CsvLines::Row& values, LengthRows& lengths) {
    SourceRow row;
    KVS_TRY(ReadTime(values, row));
    KVS_TRY_ASSIGN(const uint64_t input,
                   lines_.Integer(values[input_column_], dialect_.input, {0, kPromptTokensMax}));
    KVS_TRY_ASSIGN(const uint64_t output,
                   lines_.Integer(values[output_column_], dialect_.output, {0, UINT32_MAX}));
    if (input == 0 || output == 0) {
      ++failed_calls_;
      return {};
    }
    row.input_tokens = static_cast<uint32_t>(input);
    row.output_tokens = static_cast<uint32_t>(output);
    lengths.Add(builder_, SessionOf(values), row);
    return {};
  }

  Status ReadTime(const CsvLines::Row& values, SourceRow& row) {
    if (dialect_.unit == TimeUnit::kNone) return {};
    const std::string& text = values[time_column_];
    double time_s = 0;
    if (dialect_.unit == TimeUnit::kCalendar) {
      const std::optional<double> parsed = ParseCalendarTime(text);
      if (!parsed) {
        return lines_.Fail(
            fmt::format("'{}' must be a time like 2023-11-16 18:15:46.6805900, not '{}'",
                        dialect_.time, std::string_view(text).substr(0, 40)));
      }
      time_s = *parsed;
      if (!calendar_start_s_) calendar_start_s_ = time_s;
      time_s -= *calendar_start_s_;
    } else {
      KVS_TRY_ASSIGN(time_s, lines_.Number(text, dialect_.time));
    }
    if (time_s < last_time_s_) {
      return lines_.Fail(fmt::format("{} steps back; sort the file by it", dialect_.time));
    }
    row.arrival_s = last_time_s_ = time_s;
    return {};
  }

  /// An empty session is a request of its own.
  uint32_t SessionOf(const CsvLines::Row& values) {
    if (!session_column_ || values[*session_column_].empty()) return sessions_++;
    const auto [entry, is_new] = session_of_name_.try_emplace(values[*session_column_], sessions_);
    if (is_new) ++sessions_;
    return entry->second;
  }

  const Dialect& dialect_;
  CsvLines& lines_;
  std::string name_;
  const TraceOptions& options_;
  TraceBuilder builder_;
  size_t time_column_ = 0;
  size_t input_column_ = 0;
  size_t output_column_ = 0;
  std::optional<size_t> session_column_;
  std::optional<double> calendar_start_s_;
  double last_time_s_ = 0;
  std::unordered_map<std::string, uint32_t> session_of_name_;
  uint32_t sessions_ = 0;
  uint64_t failed_calls_ = 0;
};

}  // namespace

Result<RequestTrace> ReadLengths(std::string_view format, TextFile file,
                                 const TraceOptions& options) {
  const Dialect* const dialect = FindDialect(format);
  KVS_ASSERT(dialect != nullptr);
  CsvLines lines(file.name, std::move(file.text));
  return LengthsReader(*dialect, lines, file.name, options).Read();
}

std::optional<std::string> LengthsDialectOf(const std::vector<std::string>& header) {
  const auto has = [&header](std::string_view column) {
    return column.empty() || std::find(header.begin(), header.end(), column) != header.end();
  };
  for (const Dialect& dialect : kDialects) {
    if (has(dialect.time) && has(dialect.input) && has(dialect.output)) {
      return std::string(dialect.name);
    }
  }
  return std::nullopt;
}

std::string DescribeLengthsDialects() {
  std::string all;
  for (const Dialect& dialect : kDialects) {
    all += fmt::format("{}{} ({}{}{}, {})", all.empty() ? "" : ", ", dialect.name, dialect.time,
                       dialect.time.empty() ? "" : ", ", dialect.input, dialect.output);
  }
  return all;
}

}  // namespace kvstream::trace
