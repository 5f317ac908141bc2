#include "kvsim/sweep_command.h"

#include <chrono>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "kvstream/version.h"

#include "base/units.h"
#include "cli/command_line.h"
#include "cli/format.h"
#include "cli/json_file.h"
#include "cli/progress.h"
#include "cli/text_table.h"
#include "kvsim/command_end.h"
#include "kvsim/grid.h"
#include "kvsim/parallel.h"
#include "kvsim/policy_run.h"
#include "kvsim/run_json.h"
#include "kvsim/run_table.h"
#include "kvsim/trace_input.h"

namespace kvstream::kvsim {
namespace {

struct SweepFlags {
  TraceInput trace;
  ScenarioFlags scenario;
  std::string json;
};

// One run of the grid. Setups that differ in the rate only share nothing but the tiers.
struct Point {
  size_t setup = 0;  // index in Sweep::setups
  size_t policy = 0;
  uint64_t host_bytes = 0;
  std::optional<Result<PolicyRun>> run;
};

struct Sweep {
  std::vector<std::optional<double>> rates;  // nothing: as recorded
  std::vector<trace::RequestTrace> traces;   // as rates
  std::vector<Setup> setups;                 // as rates
  std::vector<Point> points;                 // rate by rate, size by size, policy by policy
};

Result<Sweep> Prepare(const SweepFlags& flags) {
  Sweep sweep;
  KVS_TRY_ASSIGN(Setup setup, flags.scenario.Read());
  KVS_TRY_ASSIGN(setup.scenario.turns, flags.trace.Turns());
  setup.scenario.seed = flags.trace.seed();
  std::vector<uint64_t> sizes;
  KVS_TRY(cli::ReadFlag("--host-cache", ParseByteGrid(flags.scenario.host_cache()), &sizes));
  std::vector<double> rates;
  if (!flags.trace.rate().empty()) {
    KVS_TRY(cli::ReadFlag("--rate", ParseNumberGrid(flags.trace.rate()), &rates));
  }
  sweep.rates.assign(rates.begin(), rates.end());
  if (rates.empty()) sweep.rates.emplace_back(std::nullopt);
  KVS_TRY_ASSIGN(const trace::RequestTrace recorded, flags.trace.Load());
  for (const std::optional<double>& rate : sweep.rates) {
    sweep.traces.push_back(recorded);
    KVS_TRY(flags.trace.Arrive(&sweep.traces.back(), rate));
    sweep.setups.push_back(setup);
  }
  for (size_t index = 0; index < sweep.setups.size(); ++index) {
    sweep.setups[index].scenario.trace = &sweep.traces[index];
    for (const uint64_t host_bytes : sizes) {
      for (size_t policy = 0; policy < setup.policies.size(); ++policy) {
        sweep.points.push_back({index, policy, host_bytes, std::nullopt});
      }
    }
  }
  return sweep;
}

Status RunAll(Sweep* sweep) {
  cli::Progress progress = cli::Progress::OnTerminal();
  std::mutex mutex;  // progress and done
  size_t done = 0;
  ForEachOnAllCores(sweep->points.size(), [&](size_t index) {
    Point& point = sweep->points[index];
    const Setup& setup = sweep->setups[point.setup];
    point.run.emplace(RunPolicy(setup, setup.policies[point.policy], point.host_bytes));
    if (*point.run) {
      // A grid has many runs; their summaries are all that is asked for.
      sim::Results& results = (*point.run)->results;
      std::vector<sim::RequestResult>().swap(results.requests);
      std::vector<sim::StepResult>().swap(results.steps);
    }
    const std::scoped_lock lock(mutex);
    progress.Update(std::chrono::steady_clock::now(),
                    fmt::format("{} of {} runs", ++done, sweep->points.size()));
  });
  progress.Clear();
  for (Point& point : sweep->points) {
    if (!point.run) return Error(ErrorCode::kShutdown, "interrupted");
    if (!*point.run) return std::move(*point.run).error();
  }
  return {};
}

std::string SweepTable(const Sweep& sweep) {
  std::vector<std::string> header = {"host cache"};
  const bool has_rate = sweep.rates[0].has_value();
  if (has_rate) header.emplace_back("requests/s");
  for (const SimPolicy& policy : sweep.setups[0].policies) {
    header.push_back(policy.label + ": TTFT");
    header.emplace_back("done/s");
    header.emplace_back("retrieval");
  }
  cli::TextTable table(header);
  const size_t policies = sweep.setups[0].policies.size();
  for (size_t first = 0; first < sweep.points.size(); first += policies) {
    const Point& point = sweep.points[first];
    std::vector<std::string> cells = {base::FormatBytes(point.host_bytes)};
    if (has_rate) cells.push_back(fmt::format("{:.3g}", *sweep.rates[point.setup]));
    for (size_t policy = 0; policy < policies; ++policy) {
      const sim::Summary& summary = (*sweep.points[first + policy].run)->results.summary;
      cells.push_back(cli::FormatSeconds(summary.ttft_s.mean));
      cells.push_back(fmt::format("{:.3g}", summary.requests_per_s));
      cells.push_back(fmt::format("{:.0f} %", summary.retrieval_share * 100));
    }
    table.AddRow(std::move(cells));
  }
  return table.Render();
}

nlohmann::json SweepJson(const Sweep& sweep) {
  nlohmann::json points = nlohmann::json::array();
  for (const Point& point : sweep.points) {
    nlohmann::json entry = SummaryJson(**point.run);
    entry["host_cache_bytes"] = point.host_bytes;
    const std::optional<double>& rate = sweep.rates[point.setup];
    entry["rate"] = rate ? nlohmann::json(*rate) : nlohmann::json(nullptr);
    points.push_back(std::move(entry));
  }
  return {{"program", "kvsim"},
          {"version", KVSTREAM_VERSION},
          {"command", "sweep"},
          {"trace", TraceJson(sweep.traces[0])},
          {"model", ModelJson(sweep.setups[0])},
          {"setup", SetupJson(sweep.setups[0])},
          {"notes", sweep.setups[0].notes},
          {"points", std::move(points)}};
}

Status Execute(const SweepFlags& flags) {
  KVS_TRY_ASSIGN(Sweep sweep, Prepare(flags));
  KVS_TRY(RunAll(&sweep));
  std::FILE* const out = flags.json == "-" ? stderr : stdout;
  fmt::print(out, "{}\n{}\nTTFT is the mean; retrieval its share of the prefill steps.\n",
             DescribeTrace(sweep.traces[0]), SweepTable(sweep));
  std::vector<const PolicyRun*> runs;
  for (const Point& point : sweep.points) runs.push_back(&**point.run);
  fmt::print(out, "{}{}{}", DescribeNotes(sweep.traces[0].notes),
             DescribeNotes(sweep.setups[0].notes), DescribeWarnings(runs));
  return flags.json.empty() ? Status{} : cli::WriteJson(flags.json, SweepJson(sweep));
}

}  // namespace

int SweepCommand(int argc, const char* const* argv) {
  SweepFlags flags;
  CLI::App app(
      "kvsim run for every combination of --host-cache and --rate, which here are grids: "
      "20..160GiB (8 values), 20..160GiB/5, or 40GiB,80GiB. Runs on all cores.",
      "kvsim sweep");
  flags.trace.Bind(&app);
  flags.trace.BindArrivals(&app);
  flags.scenario.Bind(&app);
  app.add_option("--json", flags.json, "Writes all points; - is stdout (the table goes to stderr)")
      ->group("Output")
      ->type_name("FILE");
  if (const auto code = cli::ParseCommandLine(&app, argc, argv)) return *code;
  return EndCommand("sweep", Execute(flags));
}

}  // namespace kvstream::kvsim
