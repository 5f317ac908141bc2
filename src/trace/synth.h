#pragma once

#include <string_view>

#include "kvstream/status.h"

#include "trace/request_trace.h"

namespace kvstream::trace {

/// Prefix of the sources that GenerateTrace understands.
inline constexpr std::string_view kBuiltinPrefix = "builtin:";

/// Generates a trace from "builtin:KIND" or "builtin:KIND,name=value,…". Kinds:
///   chat   conversations of many users behind one system prompt
///   agent  few sessions whose context grows for 30 turns, about 95 % of it reused
///   docs   documents with several questions each
/// Parameters (all kinds): sessions, turns, system (tokens shared by all sessions), context (mean
/// further tokens of a session's first prompt), turn (mean tokens that a turn adds), output (mean
/// tokens), gap (mean time between the starts of sessions), think (mean time between turns), seed.
/// In docs a turn is a question, and does not see the ones before it. The kinds loogle, narrativeqa
/// and cuad (document_workload.h), swebench, qwen-coder and chutes (session_workload.h) are the
/// workloads of the paper and have parameters of their own.
///
/// The same string and options give the same trace everywhere. kInvalidArgument names what is wrong
/// and lists what is known. Reads no file but the one that narrativeqa is given; any thread.
Result<RequestTrace> GenerateTrace(std::string_view source, const TraceOptions& options);

}  // namespace kvstream::trace
