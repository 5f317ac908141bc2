#include "kvsim/mrc_command.h"

#include <cstdio>
#include <string>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "kvstream/version.h"

#include "base/units.h"
#include "cli/command_line.h"
#include "cli/json_file.h"
#include "cli/text_table.h"
#include "kvsim/command_end.h"
#include "kvsim/demand_curve.h"
#include "kvsim/grid.h"
#include "kvsim/run_json.h"
#include "kvsim/run_table.h"
#include "kvsim/trace_input.h"
#include "model/presets.h"

namespace kvstream::kvsim {
namespace {

// What cache::StackDistances can number.
constexpr uint64_t kExactChunksMax = 2'000'000'000;

struct MrcFlags {
  TraceInput trace;
  std::string model = "70B";
  uint32_t ranks = 4;
  double sample = 1;
  double compression = 1;
  std::string at;
  std::string json;
};

Error Refuse(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

Result<DemandOptions> ReadOptions(const MrcFlags& flags) {
  model::ModelPreset model;
  KVS_TRY(cli::ReadFlag("--model", model::FindModel(flags.model), &model));
  if (flags.ranks == 0) return Refuse("--tp: must be above 0");
  if (!(flags.sample > 0 && flags.sample <= 1)) {
    return Refuse("--sample: must be above 0 and at most 1");
  }
  if (!(flags.compression >= 1 && flags.compression <= 1000)) {
    return Refuse("--compression: must be from 1 to 1000");
  }
  DemandOptions options;
  options.chunk_bytes = model.RankKvBytesPerToken(flags.ranks);  // of a token, until it is loaded
  options.rate = flags.sample;
  options.compression = flags.compression;
  options.seed = flags.trace.seed();
  if (!flags.at.empty()) KVS_TRY(cli::ReadFlag("--at", ParseByteGrid(flags.at), &options.memory));
  return options;
}

std::string CurveTable(const DemandCurve& curve) {
  cli::TextTable table({"memory a rank", "demand D", "of the reuses", "+-"});
  for (const DemandPoint& point : curve.points) {
    table.AddRow({base::FormatBytes(point.memory_bytes),
                  base::FormatBytes(static_cast<uint64_t>(point.demand_bytes)),
                  fmt::format("{:.2f} %", point.miss_ratio * 100),
                  curve.rate < 1 ? fmt::format("{:.2f} %", point.error * 100) : ""});
  }
  return table.Render();
}

std::string DescribeDistances(const DemandCurve& curve) {
  if (curve.rate < 1) {
    return fmt::format("a sample of {:.3g} of the chunks; +- is one standard error\n", curve.rate);
  }
  return fmt::format("reuse distance, bytes a rank: median {}, 90 % {}, 99 % {}\n",
                     base::FormatBytes(curve.distances.p50), base::FormatBytes(curve.distances.p90),
                     base::FormatBytes(curve.distances.p99));
}

nlohmann::json MrcJson(const trace::RequestTrace& trace, const DemandOptions& options,
                       const DemandCurve& curve) {
  nlohmann::json distances = nullptr;
  if (curve.rate >= 1) {
    distances = {{"p10", curve.distances.p10},
                 {"p50", curve.distances.p50},
                 {"p90", curve.distances.p90},
                 {"p99", curve.distances.p99}};
  }
  return {{"program", "kvsim"},
          {"version", KVSTREAM_VERSION},
          {"command", "mrc"},
          {"trace", TraceJson(trace)},
          {"chunk_bytes", options.chunk_bytes},
          {"compression", options.compression},
          {"distance_bytes", std::move(distances)},
          {"demand_curve", DemandCurveJson(curve)}};
}

Status Execute(const MrcFlags& flags) {
  KVS_TRY_ASSIGN(DemandOptions options, ReadOptions(flags));
  KVS_TRY_ASSIGN(const trace::RequestTrace trace, flags.trace.Load());
  if (options.rate == 1 && trace.chunk_count > kExactChunksMax) {
    return Refuse(fmt::format("{}: {} chunks; at most {} without --sample", trace.source,
                              trace.chunk_count, kExactChunksMax));
  }
  options.chunk_bytes *= trace.chunk_tokens;
  const DemandCurve curve = ComputeDemandCurve(trace, options);
  fmt::print(flags.json == "-" ? stderr : stdout, "{}chunk    {} a rank\n\n{}\n{}{}",
             DescribeTrace(trace), base::FormatBytes(options.chunk_bytes), CurveTable(curve),
             DescribeDistances(curve), DescribeNotes(trace.notes));
  if (flags.json.empty()) return {};
  return cli::WriteJson(flags.json, MrcJson(trace, options, curve));
}

}  // namespace

int MrcCommand(int argc, const char* const* argv) {
  MrcFlags flags;
  CLI::App app(
      "Miss-ratio curve: what an LRU of M bytes a rank in front of storage leaves to it (Eq. 2, D "
      "= V Pr[d > M]), from reuse distances. Requests in flight take some of M; kvsim run counts "
      "that, this does not.",
      "kvsim mrc");
  flags.trace.Bind(&app);
  const auto add = [&app](const char* name, auto& target, const char* help) {
    return app.add_option(name, target, help)->capture_default_str();
  };
  add("--model", flags.model, "14B, 32B, 70B or 110B: bytes of a chunk");
  add("--tp", flags.ranks, "Tensor-parallel ranks");
  add("--sample", flags.sample, "Share of the chunks to look at; 1 is exact");
  add("--compression", flags.compression, "KV takes so many times less: D = (V/r) Pr[d > r M]");
  add("--at", flags.at, "Memory sizes: 40GiB,80GiB or 20..160GiB/8")->type_name("SIZES");
  add("--json", flags.json, "Writes the curve; - is stdout (the table goes to stderr)")
      ->type_name("FILE");
  if (const auto code = cli::ParseCommandLine(&app, argc, argv)) return *code;
  return EndCommand("mrc", Execute(flags));
}

}  // namespace kvstream::kvsim
