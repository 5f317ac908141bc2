#include "cli/replay.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/format.h"
#include "cli/interrupt.h"
#include "cli/json_file.h"
#include "cli/replay_run.h"
#include "cli/report.h"
#include "cli/session.h"

namespace kvstream::cli {
namespace {

int Complain(const Error& error, ExitCode code) {
  fmt::print(stderr, "kvstream replay: {}\n", error.message());
  return code;
}

// The worst step is one request that is found whole and only on storage.
Status CheckReadBuffer(const ReplayOptions& options, const trace::RequestTrace& trace) {
  uint64_t chunks_max = 0;
  for (const trace::Request& request : trace.requests) {
    chunks_max = std::max<uint64_t>(chunks_max, request.chunk_count);
  }
  const uint64_t needed_bytes = chunks_max * options.chunk_bytes;
  if (needed_bytes <= options.read_buffer_bytes) return {};
  return Error(
      ErrorCode::kInvalidArgument,
      fmt::format("the longest prompt has {} chunks of {}: --read-buffer must be at least {}, "
                  "or cut the trace with --context-max",
                  chunks_max, base::FormatBytes(options.chunk_bytes),
                  base::FormatBytes(needed_bytes)));
}

Result<trace::RequestTrace> LoadChecked(const ReplayOptions& options) {
  KVS_TRY(CheckTiers(options.engine.tiers, options.chunk_bytes));
  KVS_TRY_ASSIGN(trace::RequestTrace trace, trace::LoadTrace(options.trace_source, options.trace));
  KVS_TRY(CheckReadBuffer(options, trace));
  return trace;
}

void PrintTrace(std::FILE* out, const ReplayOptions& options, const trace::RequestTrace& trace) {
  const trace::TraceSummary summary = trace::Summarize(trace);
  fmt::print(out,
             "trace {} ({}): {} requests, {} sessions, {} distinct chunks of {} tokens = {} each, "
             "{} in all, reuse {}\n",
             trace.source, trace.format, summary.requests, summary.sessions, summary.unique_chunks,
             trace.chunk_tokens, base::FormatBytes(options.chunk_bytes),
             base::FormatBytes(summary.unique_chunks * options.chunk_bytes),
             FormatPercent(summary.reuse));
  for (const std::string& note : trace.notes) fmt::print(out, "note: {}\n", note);
}

void PrintResult(std::FILE* out, const ReplayRun& run, const Stats& stats) {
  const ReplayCounts& counts = run.counts();
  fmt::print(out, "\n{}\n{}", PolicyTable(run.policies(), run.tier_names()), EngineTable(stats));
  fmt::print(out,
             "{} requests in {} steps; chunks of their prompts: {} in host memory, {} on storage, "
             "{} missed; demand {}, new {}\n",
             counts.requests, counts.steps, counts.host_chunks, counts.storage_chunks,
             counts.missed_chunks, base::FormatBytes(counts.demand_bytes),
             base::FormatBytes(counts.new_bytes));
  if (counts.cut_steps > 0) {
    fmt::print(out, "{} steps took fewer requests than allowed, to fit --read-buffer\n",
               counts.cut_steps);
  }
}

nlohmann::json Summary(const ReplayOptions& options, const ReplayRun& run, const Stats& stats) {
  return {{"command", "replay"},
          {"trace", options.trace_source},
          {"chunk_bytes", options.chunk_bytes},
          {"interrupted", Interrupted()},
          {"run", CountsJson(run.counts())},
          {"policies", PolicyJson(run.policies(), run.tier_names())},
          {"engine", EngineJson(stats)}};
}

// Every read has ended by now, so the kernel should hold none of our memory. If it does all the
// same, the process ends at once: returning would free that memory under a late write.
Status CloseOrLeave(Session* session) {
  Status closed = session->Close();
  if (closed) return closed;
  fmt::print(stderr, "kvstream replay: {}\n", closed.error().message());
  std::fflush(nullptr);
  std::_Exit(kExitFailed);
}

Status Reopen(const ReplayOptions& options, const trace::RequestTrace& trace, Session* session,
              std::FILE* out) {
  KVS_TRY(session->Flush());
  KVS_TRY(CloseOrLeave(session));
  KVS_TRY_ASSIGN(*session, Session::Open(options.engine, ReplayIdentity(options)));
  ReplayRun run(options, trace, *session, nullptr);
  fmt::print(out, "after closing and opening again: {} of {} chunks are readable\n",
             run.CountStored(), trace.chunk_count);
  return {};
}

// What follows the run on its way to the end: the wrong byte first, then what the user asked for.
Result<ExitCode> Finish(const ReplayOptions& options, const trace::RequestTrace& trace,
                        Session* session, ReplayRun* run, std::FILE* out) {
  if (Interrupted()) {
    fmt::print(stderr, "kvstream replay: interrupted; its chunks were left on the tiers\n");
    return kExitInterrupted;
  }
  if (options.reopen) {
    const uint64_t stored = run->CountStored();
    fmt::print(out, "before closing: {} of {} chunks are readable\n", stored, trace.chunk_count);
    KVS_TRY(Reopen(options, trace, session, out));
  }
  if (!options.keep) KVS_TRY(session->Remove(run->keys()));
  return kExitOk;
}

Result<ExitCode> Replay(const ReplayOptions& options, const trace::RequestTrace& trace,
                        LineFile* log) {
  std::FILE* out = options.json_path == "-" ? stderr : stdout;
  PrintTrace(out, options, trace);
  KVS_TRY_ASSIGN(Session session, Session::Open(options.engine, ReplayIdentity(options)));
  fmt::print(out, "{}", DescribeTiers(session.engine().GetStats()));
  ReplayRun run(options, trace, session, log);
  fmt::print(out, "{} of {} chunks are on the tiers from before\n", run.CountStored(),
             trace.chunk_count);
  std::fflush(out);

  const Status ran = run.Run();
  const Stats stats = session.engine().GetStats();
  PrintResult(out, run, stats);
  if (ran) fmt::print(out, "every byte that was read has been compared: none is wrong\n");
  Result<ExitCode> code = ExitCode::kExitOk;
  if (!ran) {
    code = ran.error().Clone();
  } else {
    if (!options.json_path.empty()) {
      KVS_TRY(WriteJson(options.json_path, Summary(options, run, stats)));
    }
    code = Finish(options, trace, &session, &run, out);
  }
  KVS_TRY(CloseOrLeave(&session));
  if (log != nullptr) KVS_TRY(log->Close());
  return code;
}

}  // namespace

int RunReplay(const ReplayOptions& options) {
  auto trace = LoadChecked(options);
  if (!trace) return Complain(trace.error(), kExitBadInput);
  std::unique_ptr<LineFile> log;
  if (!options.step_log_path.empty()) {
    auto created = LineFile::Create(options.step_log_path);
    if (!created) return Complain(created.error(), kExitBadInput);
    log = std::make_unique<LineFile>(std::move(*created));
  }
  const auto code = Replay(options, *trace, log.get());
  return code ? *code : Complain(code.error(), ExitCodeFor(code.error()));
}

}  // namespace kvstream::cli
