#include "trace/trace_builder.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/prng.h"

namespace kvstream::trace {

void TraceBuilder::BeginSession() {
  open_ = {.first = request_count()};
  runs_before_ = trace_.runs.size();
}

std::optional<uint32_t> TraceBuilder::AddRequest(const SourceRow& row) {
  return Append(static_cast<uint32_t>(sessions_.size()), open_, row);
}

std::optional<uint32_t> TraceBuilder::AddRequestTo(uint32_t session, const SourceRow& row) {
  KVS_ASSERT(session <= sessions_.size());
  if (session == sessions_.size()) sessions_.emplace_back();
  return Append(session, sessions_[session], row);
}

std::optional<uint32_t> TraceBuilder::Append(uint32_t number, Session& session,
                                             const SourceRow& row) {
  KVS_ASSERT(row.input_tokens <= kPromptTokensMax);
  session.cut = session.cut || (options_.context_tokens_max != 0 &&
                                row.input_tokens > options_.context_tokens_max);
  if (session.cut) return std::nullopt;
  Request request;
  request.arrival_s = row.arrival_s;
  request.session = number;
  request.turn = session.turns++;
  request.input_tokens = row.input_tokens;
  request.output_tokens = row.output_tokens;
  request.chunk_count = row.input_tokens / options_.chunk_tokens;
  request.tail_tokens = row.input_tokens % options_.chunk_tokens;
  request.think_s = row.think_s;
  request.api_s = row.api_s;
  uint32_t kept_chunks = 0;
  if (row.parent != SourceRow::kNoParent) {
    const Request& parent = trace_.requests[row.parent];
    const uint32_t shared_tokens =
        std::min({row.shared_tokens, row.input_tokens, parent.input_tokens});
    kept_chunks = shared_tokens / options_.chunk_tokens;
    request.lost_tokens = shared_tokens % options_.chunk_tokens;
    if (kept_chunks > 0) request.run = RunOf(parent.run, kept_chunks - 1);
  }
  if (kept_chunks < request.chunk_count) {
    trace_.runs.push_back({.parent = request.run, .begin = kept_chunks});
    request.run = static_cast<uint32_t>(trace_.runs.size() - 1);
  }
  trace_.requests.push_back(request);
  return request_count() - 1;
}

bool TraceBuilder::EndSession() {
  if (open_.turns == 0 || open_.turns < options_.session_turns_min) {
    trace_.requests.resize(open_.first);
    trace_.runs.resize(runs_before_);
    return false;
  }
  sessions_.push_back(open_);
  return true;
}

Result<RequestTrace> TraceBuilder::Finish(ArrivalClock clock, bool has_sessions) {
  GroupSessions();
  if (chosen_.empty()) {
    return Error(ErrorCode::kInvalidArgument,
                 source_ +
                     ": no requests: the trace is empty, or the limits on context and turns "
                     "exclude every session");
  }
  std::vector<uint32_t> order = ServingOrder(clock);
  if (options_.requests_max != 0 && order.size() > options_.requests_max) {
    order.resize(options_.requests_max);
  }
  KeepOnly(order);
  NumberRuns();
  NumberSessions();
  trace_.source = source_;
  trace_.chunk_tokens = options_.chunk_tokens;
  trace_.clock = clock;
  trace_.has_sessions = has_sessions;
  return std::move(trace_);
}

// The run that has chunk `chunk` of a prompt that ends in `run`.
uint32_t TraceBuilder::RunOf(uint32_t run, uint32_t chunk) const {
  while (trace_.runs[run].begin > chunk) run = trace_.runs[run].parent;
  return run;
}

// Chooses sessions by the limits and lists their requests, one session after the other.
void TraceBuilder::GroupSessions() {
  std::vector<uint32_t> first_slot(sessions_.size(), UINT32_MAX);
  uint32_t slots = 0;
  for (size_t i = 0; i < sessions_.size() &&
                     !(options_.sessions_max != 0 && chosen_.size() == options_.sessions_max);
       ++i) {
    const uint32_t turns = sessions_[i].turns;
    if (turns == 0 || turns < options_.session_turns_min) continue;
    first_slot[i] = slots;
    chosen_.push_back({.first = slots, .turns = turns});
    slots += turns;
  }
  slots_.resize(slots);
  for (uint32_t i = 0; i < trace_.requests.size(); ++i) {
    const Request& request = trace_.requests[i];
    const uint32_t first = first_slot[request.session];
    if (first != UINT32_MAX) slots_[first + request.turn] = i;
  }
}

std::vector<uint32_t> TraceBuilder::ServingOrder(ArrivalClock clock) const {
  if (options_.order == Order::kRoundRobin) return RoundRobin();
  if (options_.order == Order::kInterleave) return Interleave();
  std::vector<uint32_t> order = slots_;
  if (options_.order == Order::kSequential) return order;
  std::sort(order.begin(), order.end());  // as in the file
  if (clock == ArrivalClock::kTrace) {
    std::stable_sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
      return trace_.requests[a].arrival_s < trace_.requests[b].arrival_s;
    });
  }
  return order;
}

std::vector<uint32_t> TraceBuilder::RoundRobin() const {
  std::vector<uint32_t> order;
  order.reserve(slots_.size());
  std::vector<Session> open = chosen_;
  for (uint32_t turn = 0; !open.empty(); ++turn) {
    for (const Session& session : open) order.push_back(slots_[session.first + turn]);
    std::erase_if(open, [turn](const Session& session) { return session.turns == turn + 1; });
  }
  return order;
}

std::vector<uint32_t> TraceBuilder::Interleave() const {
  std::vector<uint32_t> order;
  order.reserve(slots_.size());
  base::Prng prng(options_.seed);
  const size_t window = options_.window == 0 ? chosen_.size() : options_.window;
  size_t next = std::min(window, chosen_.size());
  std::vector<Session> open(chosen_.begin(), chosen_.begin() + static_cast<ptrdiff_t>(next));
  while (!open.empty()) {
    Session& session = open[static_cast<size_t>(prng.Below(open.size()))];
    order.push_back(slots_[session.first++]);
    if (--session.turns > 0) continue;
    if (next < chosen_.size()) {
      session = chosen_[next++];
    } else {
      session = open.back();
      open.pop_back();
    }
  }
  return order;
}

void TraceBuilder::KeepOnly(const std::vector<uint32_t>& order) {
  std::vector<Request> kept;
  kept.reserve(order.size());
  for (const uint32_t index : order) kept.push_back(trace_.requests[index]);
  trace_.requests = std::move(kept);
}

// Drops runs that no kept request uses, and gives the chunks of the others dense ids.
void TraceBuilder::NumberRuns() {
  std::vector<uint32_t> ends(trace_.runs.size(),
                             0);  // chunks in use, counted from the prompt's start
  for (const Request& request : trace_.requests) {
    if (request.run == ChunkRun::kNoParent) continue;
    ends[request.run] = std::max(ends[request.run], request.chunk_count);
  }
  for (size_t run = ends.size(); run-- > 0;) {  // parents come before their children
    const ChunkRun& used = trace_.runs[run];
    if (ends[run] == 0 || used.parent == ChunkRun::kNoParent) continue;
    ends[used.parent] = std::max(ends[used.parent], used.begin);
  }
  std::vector<uint32_t> renamed(ends.size(), ChunkRun::kNoParent);
  uint32_t kept = 0;
  for (size_t run = 0; run < ends.size(); ++run) {
    if (ends[run] == 0) continue;
    ChunkRun used = trace_.runs[run];
    if (used.parent != ChunkRun::kNoParent) used.parent = renamed[used.parent];
    used.first_id = trace_.chunk_count;
    trace_.chunk_count += ends[run] - used.begin;
    renamed[run] = kept;
    trace_.runs[kept++] = used;
  }
  trace_.runs.resize(kept);
  for (Request& request : trace_.requests) {
    if (request.run != ChunkRun::kNoParent) request.run = renamed[request.run];
  }
}

// Dense, in order of the first request served.
void TraceBuilder::NumberSessions() {
  constexpr uint32_t kUnseen = UINT32_MAX;
  std::vector<uint32_t> renamed(sessions_.size(), kUnseen);
  for (Request& request : trace_.requests) {
    uint32_t& name = renamed[request.session];
    if (name == kUnseen) name = trace_.session_count++;
    request.session = name;
  }
}

}  // namespace kvstream::trace
