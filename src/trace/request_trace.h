#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kvstream/status.h"

namespace kvstream::trace {

/// Longest prompt that a reader or generator accepts, so that the chunks of one request fit in
/// memory.
inline constexpr uint32_t kPromptTokensMax = 1u << 24;

/// A run of chunk ids that continues an earlier run: chunk `begin` + i of a prompt has id
/// `first_id` + i. Chunks before `begin` are those of `parent`. Prompts that share a prefix share
/// runs, so a trace takes a few dozen bytes a request however long its prompts are.
struct ChunkRun {
  static constexpr uint32_t kNoParent = UINT32_MAX;

  uint32_t parent = kNoParent;  ///< Index of an earlier run; kNoParent only where `begin` is 0.
  uint32_t begin = 0;
  uint64_t first_id = 0;
};

struct Request {
  double arrival_s = 0;  ///< On the clock that RequestTrace::clock names.
  uint32_t session = 0;
  uint32_t turn = 0;  ///< Within the session, from 0, without gaps.
  uint32_t input_tokens = 0;
  uint32_t output_tokens = 0;
  uint32_t chunk_count = 0;  ///< Full chunks of the prompt.
  uint32_t tail_tokens = 0;  ///< Tokens after the last full chunk; never stored.
  /// Tokens known to be shared with an earlier prompt that no full chunk covers.
  uint32_t lost_tokens = 0;
  uint32_t run = ChunkRun::kNoParent;  ///< Run of the last chunk; kNoParent without chunks.
  float think_s = 0;                   ///< Waited by the client before the request; 0 if unknown.
  float api_s = 0;                     ///< Taken by the origin's server; 0 if unknown.
};

enum class ArrivalClock : uint8_t {
  kNone,   ///< No times: closed loop; arrival_s is 0.
  kTrace,  ///< Seconds from the start of the trace.
  /// A session's first turn comes at its arrival_s, each further one think_s after the answer to
  /// the one before it. In files these are seconds from the start of the session, so all sessions
  /// start at once, and times may step back inside one (subagents); ApplyArrivals sets starts.
  kSession,
};

/// Requests in the order in which they are to be served, and the prefixes they share. Equal chunk
/// id means equal prompt prefix up to and including that chunk. Ids are dense: 0 to chunk_count
/// - 1. A plain value; const access from any thread.
struct RequestTrace {
  std::string source;  ///< As given: a path or "builtin:…".
  std::string format;  ///< A name of TraceOptions::format, or "builtin".
  uint32_t chunk_tokens = 0;
  uint64_t chunk_count = 0;    ///< Distinct chunks.
  uint32_t session_count = 0;  ///< Sessions with at least one request.
  bool has_sessions = false;   ///< False: the format knows none, every request is its own.
  /// False: only lengths are known, no two prompts share a chunk, and no hit ratio means anything.
  bool has_prefixes = true;
  uint64_t chunk_bytes = 0;  ///< Of a chunk of chunk_tokens, where the format says; else 0.
  ArrivalClock clock = ArrivalClock::kNone;
  std::vector<Request> requests;
  std::vector<ChunkRun> runs;
  std::vector<std::string> notes;  ///< What a reader found and a user should know; whole sentences.

  /// Replaces `ids` by the chunk ids of a request of this trace, in prefix order.
  void ChunkIds(const Request& request, std::vector<uint64_t>& ids) const;
};

/// The order in which requests are served. Turns of one session never swap.
enum class Order : uint8_t {
  kRecorded,    ///< By arrival on a trace clock, else as in the file.
  kSequential,  ///< One session after the other.
  kRoundRobin,  ///< Turn 0 of every session, then turn 1, …, skipping finished sessions.
  kInterleave,  ///< A random one of `window` open sessions each time; a finished one is replaced.
};

struct TraceOptions {
  /// "auto" (from the names of the first object's fields, or of the columns), or one of
  /// FormatNames.
  std::string format = "auto";
  /// What prompts of a file without prefix information share. "": such a file is refused. "none":
  /// nothing. "shared:TOKENS": that many tokens at their head, all of them. "session": a prompt at
  /// least as long as the one before it in its session and its answer begins with that one.
  std::string prefixes = "";
  /// prefix-trie, weka: tool definitions and system prompts, which ids do not show as shared, are
  /// the same in all sessions.
  bool shared_heads = false;
  std::string model = "";           ///< lmcache: keeps the rows of this model. "": there is one.
  uint32_t output_tokens = 0;       ///< lmcache: of every request, because the log does not say.
  uint64_t source_chunk_bytes = 0;  ///< lmcache: of one chunk of the log. 0: from dtypes, shapes.
  /// Must divide the block of the trace, or be a multiple of it.
  uint32_t chunk_tokens = 256;
  /// Ends a session before its first request with a longer prompt. 0: no limit.
  uint32_t context_tokens_max = 0;
  /// Then drops sessions with fewer requests.
  uint32_t session_turns_min = 0;
  /// Then keeps the first of them. Reading stops there. 0: no limit.
  uint32_t sessions_max = 0;
  Order order = Order::kRecorded;
  uint32_t window = 0;  ///< kInterleave: sessions open at a time; 0: all.
  uint64_t seed = 1;    ///< kInterleave.
  /// Keeps the first requests of the chosen order. 0: no limit.
  uint32_t requests_max = 0;
};

/// The formats that files may have.
const std::vector<std::string>& FormatNames();

/// Reads a trace: "builtin:…" (GenerateTrace), the path of a file, plain or gzip, or of a directory
/// of weka conversations (*.json) or of lmcache logs (lookup_hashes_*.jsonl). Blocks.
/// kNotFound, kIo; kInvalidArgument for whatever is wrong with options or contents: the message has
/// file, line and what to do. Memory is bounded by a multiple of the file's size.
Result<RequestTrace> LoadTrace(std::string_view source, const TraceOptions& options);

/// The same for contents in memory, plain or gzip. `name` stands in for the path. Pure.
Result<RequestTrace> ParseTrace(std::string_view name, std::string_view contents,
                                const TraceOptions& options);

struct TraceSummary {
  uint64_t requests = 0;
  uint64_t sessions = 0;
  uint64_t input_tokens = 0;
  uint64_t output_tokens = 0;
  uint64_t chunk_accesses = 0;  ///< Σ chunk_count of the requests.
  uint64_t unique_chunks = 0;
  uint64_t tail_tokens = 0;
  uint64_t lost_tokens = 0;  ///< Reuse lost to chunk granularity.
  double reuse = 0;          ///< Share of accesses that an unbounded cache would hit.
};

TraceSummary Summarize(const RequestTrace& trace);

}  // namespace kvstream::trace
