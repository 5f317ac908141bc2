#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kvstream/status.h"

#include "trace/request_trace.h"

namespace kvstream::trace {

/// What a reader knows of one request. Its prompt begins with the first `shared_tokens` of the
/// prompt of `parent`, an index that AddRequest returned earlier; the rest is new.
struct SourceRow {
  static constexpr uint32_t kNoParent = UINT32_MAX;

  double arrival_s = 0;
  uint32_t input_tokens = 0;
  uint32_t output_tokens = 0;
  uint32_t parent = kNoParent;
  uint32_t shared_tokens = 0;
  float think_s = 0;
  float api_s = 0;
};

/// What all formats have in common: cutting prompts into chunks, choosing sessions, ordering, and
/// numbering what is left. Where a file has one session after the other, a session is BeginSession,
/// AddRequest …, EndSession; where sessions overlap or share prefixes, AddRequestTo takes the place
/// of all three. Pure, not thread-safe.
class TraceBuilder {
 public:
  /// `source` names the trace in errors.
  TraceBuilder(std::string_view source, const TraceOptions& options)
      : source_(source), options_(options) {}

  void BeginSession();
  /// The request's index, or none if the session has been cut before it (context_tokens_max).
  std::optional<uint32_t> AddRequest(const SourceRow& row);
  /// False if the session was too short and is gone, indices included (session_turns_min).
  bool EndSession();
  /// As AddRequest; `session` counts from 0 in order of first appearance. Indices stay valid, and
  /// the limits on sessions apply in Finish.
  std::optional<uint32_t> AddRequestTo(uint32_t session, const SourceRow& row);
  /// sessions_max are there; readers of one session after the other stop.
  bool full() const {
    return options_.sessions_max != 0 && sessions_.size() == options_.sessions_max;
  }
  uint32_t request_count() const { return static_cast<uint32_t>(trace_.requests.size()); }

  /// Applies order and requests_max and hands the trace out, without format and notes.
  /// kInvalidArgument if no request is left.
  Result<RequestTrace> Finish(ArrivalClock clock, bool has_sessions);

 private:
  struct Session {
    uint32_t first = 0;  // its first request, as a place in slots_
    uint32_t turns = 0;
    bool cut = false;  // by context_tokens_max
  };

  std::optional<uint32_t> Append(uint32_t number, Session& session, const SourceRow& row);
  uint32_t RunOf(uint32_t run, uint32_t chunk) const;
  void GroupSessions();
  std::vector<uint32_t> ServingOrder(ArrivalClock clock) const;
  std::vector<uint32_t> RoundRobin() const;
  std::vector<uint32_t> Interleave() const;
  void KeepOnly(const std::vector<uint32_t>& order);
  void NumberRuns();
  void NumberSessions();

  std::string source_;
  TraceOptions options_;
  RequestTrace trace_;
  std::vector<Session> sessions_;  // Request::session counts them until NumberSessions
  Session open_;
  size_t runs_before_ = 0;       // of the open session
  std::vector<Session> chosen_;  // of sessions_, those that the limits leave
  std::vector<uint32_t> slots_;  // their requests, one session after the other
};

}  // namespace kvstream::trace
