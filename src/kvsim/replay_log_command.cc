#include "kvsim/replay_log_command.h"

#include <cstdio>
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
#include "cli/text_table.h"
#include "kvsim/command_end.h"
#include "kvsim/sim_policy.h"
#include "kvsim/tier_spec.h"
#include "sim/step_log_run.h"

namespace kvstream::kvsim {
namespace {

struct ReplayLogFlags {
  std::string log;
  std::string logged;
  std::vector<std::string> policies;
  std::string write_policy;
  std::vector<std::string> tiers;
  std::string gpu_link;
  uint64_t seed = 1;
  std::string json;
};

struct Replayed {
  std::string label;
  sim::StepLogResults results;
};

// The log's tiers as far as policies must know them: names, and bandwidths to deal out copies.
std::vector<sim::TierModel> TiersOf(const sim::StepLog& log) {
  std::vector<sim::TierModel> tiers(log.tier_names.size());
  for (size_t tier = 0; tier < tiers.size(); ++tier) {
    tiers[tier].name = log.tier_names[tier];
    double bytes = 0;
    double busy_s = 0;
    for (const sim::LoggedStep& step : log.steps) {
      bytes += static_cast<double>(step.tiers[tier].read_bytes);
      busy_s += step.tiers[tier].read_busy_s;
    }
    // A tier that never read gets copies all the same.
    tiers[tier].series.base.read = bytes > 0 && busy_s > 0 ? bytes / busy_s : 1;
  }
  return tiers;
}

Result<std::vector<sim::TierModel>> ReadTiers(const ReplayLogFlags& flags) {
  std::vector<sim::TierModel> tiers;
  for (const std::string& text : flags.tiers) {
    KVS_TRY_ASSIGN(const TierSpec spec, ParseTierFlag(text));
    KVS_TRY_ASSIGN(sim::TierModel tier, BuildTier(spec));
    tiers.push_back(std::move(tier));
  }
  return tiers;
}

Result<Replayed> Replay(const ReplayLogFlags& flags, const sim::StepLog& log,
                        const std::string& text) {
  KVS_TRY_ASSIGN(const std::vector<sim::TierModel> given, ReadTiers(flags));
  KVS_TRY_ASSIGN(const SimPolicy policy,
                 ParseSimPolicy(text, given.empty() ? TiersOf(log) : given, flags.write_policy));
  if (!policy.has_storage) {
    return Error(ErrorCode::kInvalidArgument, "--policy none: a step log is about storage");
  }
  sim::StepLogOptions options;
  options.storage = policy.storage;
  options.logged_policy = flags.logged;
  options.tiers = given;
  options.replay_writes = policy.says_write;
  options.seed = flags.seed;
  if (!flags.gpu_link.empty()) {
    uint64_t link = 0;
    KVS_TRY(cli::ReadFlag("--gpu-link", base::ParseBandwidth(flags.gpu_link), &link));
    if (link == 0) return Error(ErrorCode::kInvalidArgument, "--gpu-link: must be above 0");
    options.storage.link_bytes_per_second = static_cast<double>(link);
  }
  auto results = sim::RunStepLog(log, options);
  if (!results) return std::move(results).error().WithContext(flags.log);
  return Replayed{policy.label, std::move(*results)};
}

std::string ReplayTable(const std::vector<Replayed>& runs) {
  cli::TextTable table({"policy", "steps", "retrieval", "in the log", "ratio", "bound", "gap",
                        "copies written", "assumed"});
  for (const Replayed& run : runs) {
    const sim::StepLogResults& results = run.results;
    const double logged_s = results.logged_retrieval_s;
    table.AddRow(
        {run.label, fmt::format("{}", results.steps.size()),
         cli::FormatSeconds(results.retrieval_s), cli::FormatSeconds(logged_s),
         logged_s > 0 ? fmt::format("{:.3f}", results.retrieval_s / logged_s) : "-",
         cli::FormatSeconds(results.bound_s), cli::FormatPercent(results.gap()),
         results.write_amplification > 0 ? fmt::format("{:.2f}", results.write_amplification) : "-",
         fmt::format("{}", results.assumed_steps)});
  }
  return table.Render();
}

nlohmann::json ReplayJson(const ReplayLogFlags& flags, const sim::StepLog& log,
                          const std::vector<Replayed>& runs) {
  nlohmann::json policies = nlohmann::json::array();
  for (const Replayed& run : runs) {
    const sim::StepLogResults& results = run.results;
    policies.push_back({{"policy", run.label},
                        {"steps", results.steps.size()},
                        {"retrieval_s", results.retrieval_s},
                        {"logged_retrieval_s", results.logged_retrieval_s},
                        {"bound_s", results.bound_s},
                        {"gap", results.gap()},
                        {"demand_bytes", results.totals.demand_bytes},
                        {"write_amplification", results.write_amplification},
                        {"missed_chunks", results.missed_chunks},
                        {"assumed_steps", results.assumed_steps},
                        {"hash", fmt::format("{:016x}", results.hash)}});
  }
  return {{"program", "kvsim"},
          {"version", KVSTREAM_VERSION},
          {"command", "replay-log"},
          {"log", flags.log},
          {"logged_policies", log.policies},
          {"tiers", log.tier_names},
          {"policies", std::move(policies)}};
}

Status Execute(const ReplayLogFlags& flags) {
  KVS_TRY_ASSIGN(const sim::StepLog log, sim::LoadStepLog(flags.log));
  std::vector<Replayed> runs;
  const std::vector<std::string> defaults = {"kvstream"};
  for (const std::string& text : flags.policies.empty() ? defaults : flags.policies) {
    KVS_TRY_ASSIGN(Replayed run, Replay(flags, log, text));
    runs.push_back(std::move(run));
  }
  std::FILE* const out = flags.json == "-" ? stderr : stdout;
  fmt::print(out, "{}\n", ReplayTable(runs));
  for (const Replayed& run : runs) {
    if (run.results.missed_chunks > 0) {
      fmt::print(out, "warning ({}): {} chunks are left out: in the log no tier has them.\n",
                 run.label, run.results.missed_chunks);
    }
    fmt::print(out, "hash {:016x}  {}\n", run.results.hash, run.label);
  }
  return flags.json.empty() ? Status{} : cli::WriteJson(flags.json, ReplayJson(flags, log, runs));
}

}  // namespace

int ReplayLogCommand(int argc, const char* const* argv) {
  ReplayLogFlags flags;
  CLI::App app(
      "Replays the steps of a step log (kvstream replay --step-log, kvsim run --step-log) under "
      "other policies, at the bandwidths that the tiers showed in each step. A policy with +WRITE "
      "places the chunks itself, the others read them where the log has them.",
      "kvsim replay-log");
  const auto add = [&app](const char* name, auto& target, const std::string& help) {
    return app.add_option(name, target, help);
  };
  add("log", flags.log, "Step log, plain or gzip")->required()->type_name("FILE");
  add("--logged", flags.logged, "Replays the lines of this policy; the log's first if absent");
  add("--policy", flags.policies, std::string(kSimPolicyHelp))
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add("--write-policy", flags.write_policy, "WRITE of the policies that do not say");
  add("--tier", flags.tiers,
      "Instead of the log's bandwidths, as many tiers, as one rank sees them: "
      "NAME=READ[,KEY=VALUE…]")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add("--gpu-link", flags.gpu_link, "Host memory to one GPU; no limit if absent")->type_name("BW");
  add("--seed", flags.seed, "Of latencies and random bandwidths")->capture_default_str();
  add("--json", flags.json, "Writes the figures; - is stdout (the table goes to stderr)")
      ->type_name("FILE");
  if (const auto code = cli::ParseCommandLine(&app, argc, argv)) return *code;
  return EndCommand("replay-log", Execute(flags));
}

}  // namespace kvstream::kvsim
