#include "kvsim/run_command.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "kvstream/version.h"

#include "base/units.h"
#include "cli/command_line.h"
#include "cli/format.h"
#include "cli/json_file.h"
#include "kvsim/command_end.h"
#include "kvsim/run_json.h"
#include "kvsim/run_table.h"
#include "kvsim/sim_step_log.h"
#include "kvsim/trace_input.h"
#include "kvsim/verdict.h"

namespace kvstream::kvsim {
namespace {

constexpr const char* kDescription =
    "Serves a trace of LLM requests on virtual time under several storage policies, and says how "
    "long steps wait for storage and what a further tier is worth.";
constexpr const char* kFooter =
    "Sizes are 4096, 80GiB, 1.5TB; bandwidths 7GB/s, of a whole node; times 20ms, 2s.\n"
    "Same flags, same trace: same figures and same hash.\n"
    "Exit: 0 done, 1 a failure, 2 bad input (nothing written), 130 interrupted.";

// Enough for every recorded trace but the longest, and a second of work.
constexpr double kExactAccessesMax = 5e6;

struct RunFlags {
  TraceInput trace;
  ScenarioFlags scenario;
  std::string json;
  std::string step_log;
};

struct Run {
  trace::RequestTrace trace;
  Setup setup;
  uint64_t host_bytes = 0;
  std::vector<PolicyRun> policies;
  std::optional<Verdict> verdict;
};

Status Prepare(const RunFlags& flags, Run* run) {
  KVS_TRY_ASSIGN(run->setup, flags.scenario.Read());
  KVS_TRY(cli::ReadFlag("--host-cache", base::ParseBytes(flags.scenario.host_cache()),
                        &run->host_bytes));
  KVS_TRY_ASSIGN(run->setup.scenario.turns, flags.trace.Turns());
  KVS_TRY_ASSIGN(run->trace, flags.trace.Load());
  KVS_TRY(flags.trace.Arrive(&run->trace));
  run->setup.scenario.trace = &run->trace;
  run->setup.scenario.seed = flags.trace.seed();
  run->setup.scenario.keep_chunks = !flags.step_log.empty();
  return {};
}

void PrintLine(std::string_view text, std::FILE* out) {
  fmt::print(out, "{}", cli::WrapText(text, kTextColumns));
}

void PrintNotes(const Run& run, std::FILE* out) {
  std::vector<const PolicyRun*> policies;
  for (const PolicyRun& policy : run.policies) policies.push_back(&policy);
  fmt::print(out, "{}{}{}", DescribeNotes(run.trace.notes), DescribeNotes(run.setup.notes),
             DescribeWarnings(policies));
}

void Print(const Run& run, std::FILE* out) {
  fmt::print(out, "{}{}\n{}\n", DescribeTrace(run.trace),
             DescribeMachine(run.setup, run.host_bytes), RunTable(run.policies));
  for (const PolicyRun& policy : run.policies) PrintLine(DescribeTime(policy), out);
  if (run.verdict) fmt::print(out, "\n{}", cli::WrapText(run.verdict->text, kTextColumns));
  fmt::print(out, "\n");
  PrintNotes(run, out);
  for (const PolicyRun& policy : run.policies) {
    fmt::print(out, "hash {:016x}  {}\n", policy.results.hash, policy.policy.label);
  }
}

nlohmann::json VerdictJson(const std::optional<Verdict>& verdict) {
  if (!verdict) return nullptr;
  return {{"alone", verdict->alone},
          {"together", verdict->together},
          {"metric", verdict->metric},
          {"saturated", verdict->saturated},
          {"gain", verdict->gain},
          {"retrieval_saving", verdict->retrieval_saving},
          {"write_wait_share", verdict->write_wait_share},
          {"answer", verdict->answer},
          {"text", verdict->text}};
}

nlohmann::json RunJson(const Run& run, const RunFlags& flags) {
  nlohmann::json policies = nlohmann::json::array();
  for (const PolicyRun& policy : run.policies) {
    nlohmann::json entry = SummaryJson(policy);
    entry["curves"] = CurvesJson(policy);
    policies.push_back(std::move(entry));
  }
  const sim::Scenario& scenario = run.setup.scenario;
  const uint64_t chunk_bytes =
      scenario.model.RankKvBytesPerToken(scenario.ranks) * run.trace.chunk_tokens;
  const auto accesses = static_cast<double>(trace::Summarize(run.trace).chunk_accesses);
  const double rate = std::min(1.0, kExactAccessesMax / std::max(accesses, 1.0));
  nlohmann::json setup = SetupJson(run.setup);
  setup["host_cache_bytes"] = run.host_bytes;
  setup["chunk_bytes"] = chunk_bytes;
  setup["arrivals"] = flags.trace.arrivals();
  return {{"program", "kvsim"},
          {"version", KVSTREAM_VERSION},
          {"command", "run"},
          {"trace", TraceJson(run.trace)},
          {"model", ModelJson(run.setup)},
          {"setup", std::move(setup)},
          {"notes", run.setup.notes},
          {"policies", std::move(policies)},
          {"demand_curve", DemandCurveJson(ComputeDemandCurve(
                               run.trace, {.chunk_bytes = chunk_bytes, .rate = rate}))},
          {"verdict", VerdictJson(run.verdict)}};
}

Status Execute(const RunFlags& flags) {
  Run run;
  KVS_TRY(Prepare(flags, &run));
  KVS_TRY_ASSIGN(run.policies, RunPolicies(run.setup, run.host_bytes));
  run.verdict = Judge(run.policies, run.trace.clock != trace::ArrivalClock::kNone);
  Print(run, flags.json == "-" ? stderr : stdout);
  if (!flags.step_log.empty()) KVS_TRY(WriteStepLog(flags.step_log, run.setup, run.policies));
  if (!flags.json.empty()) KVS_TRY(cli::WriteJson(flags.json, RunJson(run, flags)));
  return {};
}

}  // namespace

int RunCommand(int argc, const char* const* argv) {
  RunFlags flags;
  CLI::App app(kDescription, "kvsim run");
  app.footer(kFooter);
  flags.trace.Bind(&app);
  flags.trace.BindArrivals(&app);
  flags.scenario.Bind(&app);
  app.add_option("--json", flags.json, "Writes all figures; - is stdout (tables go to stderr)")
      ->group("Output")
      ->type_name("FILE");
  app.add_option("--step-log", flags.step_log, "Writes one JSON object a step, with its chunks")
      ->group("Output")
      ->type_name("FILE");
  if (const auto code = cli::ParseCommandLine(&app, argc, argv)) return *code;
  return EndCommand("run", Execute(flags));
}

}  // namespace kvstream::kvsim
