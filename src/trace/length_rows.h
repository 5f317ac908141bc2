#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kvstream/status.h"

#include "trace/request_trace.h"
#include "trace/trace_builder.h"

namespace kvstream::trace {

/// Gives rows that have lengths only the prefixes that TraceOptions::prefixes names. Not
/// thread-safe.
class LengthRows {
 public:
  /// kInvalidArgument where the option is empty, unknown or needs sessions that are not there.
  static Result<LengthRows> Create(const TraceOptions& options, bool has_sessions);

  /// `session` as in TraceBuilder::AddRequestTo.
  void Add(TraceBuilder& builder, uint32_t session, SourceRow row);
  /// Marks what Finish of the builder returned.
  void Describe(RequestTrace& trace) const;

 private:
  enum class Rule : uint8_t { kNone, kShared, kSession };

  struct Previous {
    uint32_t request = SourceRow::kNoParent;
    uint32_t input_tokens = 0;
    uint64_t answered_tokens = 0;  // prompt and answer
  };

  std::string name_;
  Rule rule_ = Rule::kNone;
  uint32_t shared_tokens_ = 0;
  Previous longest_;                // kShared: has as much of the shared head as any
  std::vector<Previous> previous_;  // kSession, by session
};

}  // namespace kvstream::trace
