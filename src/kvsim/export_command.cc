#include "kvsim/export_command.h"

#include <string>

#include <fmt/core.h>

#include "cli/command_line.h"
#include "kvsim/command_end.h"
#include "kvsim/trace_input.h"
#include "model/presets.h"
#include "trace/oracle_general.h"

namespace kvstream::kvsim {
namespace {

struct ExportFlags {
  TraceInput trace;
  std::string model = "70B";
  uint32_t ranks = 4;
  std::string out;
};

Status Execute(const ExportFlags& flags) {
  model::ModelPreset model;
  KVS_TRY(cli::ReadFlag("--model", model::FindModel(flags.model), &model));
  if (flags.ranks == 0) return Error(ErrorCode::kInvalidArgument, "--tp: must be above 0");
  KVS_TRY_ASSIGN(const trace::RequestTrace trace, flags.trace.Load());
  const uint64_t chunk_bytes = model.RankKvBytesPerToken(flags.ranks) * trace.chunk_tokens;
  KVS_TRY(trace::WriteOracleGeneral(trace, chunk_bytes, flags.out));
  fmt::print("{}: {} accesses to {} chunks of {} bytes\n", flags.out,
             trace::Summarize(trace).chunk_accesses, trace.chunk_count, chunk_bytes);
  return {};
}

}  // namespace

int ExportCommand(int argc, const char* const* argv) {
  ExportFlags flags;
  CLI::App app(
      "Writes the chunk accesses of a trace as libCacheSim's oracleGeneral (24 bytes an access), "
      "to check cache figures with an outside tool.",
      "kvsim export");
  flags.trace.Bind(&app);
  app.add_option("--model", flags.model, "14B, 32B, 70B or 110B: bytes of a chunk")
      ->capture_default_str();
  app.add_option("--tp", flags.ranks, "Tensor-parallel ranks")->capture_default_str();
  app.add_option("--out", flags.out, "Replaces this file")->required()->type_name("FILE");
  if (const auto code = cli::ParseCommandLine(&app, argc, argv)) return *code;
  return EndCommand("export", Execute(flags));
}

}  // namespace kvstream::kvsim
