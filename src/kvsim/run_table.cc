#include "kvsim/run_table.h"

#include <algorithm>
#include <functional>

#include <fmt/core.h>

#include "base/units.h"
#include "cli/format.h"
#include "cli/text_table.h"

namespace kvstream::kvsim {
namespace {

using cli::FormatSeconds;
using Cell = std::function<std::string(const PolicyRun&)>;

constexpr std::string_view kNothing = "-";

std::string Percent(double fraction) { return fmt::format("{:.1f} %", fraction * 100); }

std::string Rate(double per_s) { return fmt::format("{:.4g}", per_s); }

const sim::Summary& Of(const PolicyRun& run) { return run.results.summary; }

void AddRow(cli::TextTable* table, std::span<const PolicyRun> runs, std::string name,
            const Cell& cell) {
  std::vector<std::string> cells = {std::move(name)};
  for (const PolicyRun& run : runs) cells.push_back(cell(run));
  table->AddRow(std::move(cells));
}

// A figure that only runs with storage have.
void AddStorageRow(cli::TextTable* table, std::span<const PolicyRun> runs, std::string name,
                   const Cell& cell) {
  AddRow(table, runs, std::move(name), [&cell](const PolicyRun& run) {
    return run.tier_names.empty() ? std::string(kNothing) : cell(run);
  });
}

void AddServingRows(cli::TextTable* table, std::span<const PolicyRun> runs) {
  AddRow(table, runs, "requests/s", [](const auto& run) { return Rate(Of(run).requests_per_s); });
  AddRow(table, runs, "prompt tokens/s",
         [](const auto& run) { return fmt::format("{:.0f}", Of(run).input_tokens_per_s); });
  AddRow(table, runs, "TTFT, mean",
         [](const auto& run) { return FormatSeconds(Of(run).ttft_s.mean); });
  AddRow(table, runs, "TTFT, p50",
         [](const auto& run) { return FormatSeconds(Of(run).ttft_s.p50); });
  AddRow(table, runs, "TTFT, p90",
         [](const auto& run) { return FormatSeconds(Of(run).ttft_s.p90); });
  AddRow(table, runs, "TTFT, p99",
         [](const auto& run) { return FormatSeconds(Of(run).ttft_s.p99); });
  AddRow(table, runs, "of it in the queue, mean",
         [](const auto& run) { return FormatSeconds(Of(run).wait_s.mean); });
  AddRow(table, runs, "latency, mean",
         [](const auto& run) { return FormatSeconds(Of(run).latency_s.mean); });
  AddRow(table, runs, "busy", [](const auto& run) { return Percent(Of(run).utilisation); });
}

void AddStepRows(cli::TextTable* table, std::span<const PolicyRun> runs) {
  AddRow(table, runs, "prefill steps",
         [](const auto& run) { return fmt::format("{}", Of(run).steps); });
  AddRow(table, runs, "retrieval",
         [](const auto& run) { return FormatSeconds(Of(run).time.retrieval_s); });
  AddRow(table, runs, "forward pass",
         [](const auto& run) { return FormatSeconds(Of(run).time.forward_s); });
  AddRow(table, runs, "wait for writes",
         [](const auto& run) { return FormatSeconds(Of(run).time.write_wait_s); });
  AddRow(table, runs, "decode steps",
         [](const auto& run) { return FormatSeconds(Of(run).time.decode_s); });
  AddRow(table, runs, "retrieval of the prefill step",
         [](const auto& run) { return Percent(Of(run).retrieval_share); });
  AddRow(table, runs, "largest term",
         [](const auto& run) { return std::string(Of(run).dominant); });
}

void AddTokenRows(cli::TextTable* table, std::span<const PolicyRun> runs) {
  const auto share = [](uint64_t part, const PolicyRun& run) {
    const auto total = static_cast<double>(std::max<uint64_t>(Of(run).measured.prompt.total(), 1));
    return Percent(static_cast<double>(part) / total);
  };
  AddRow(table, runs, "prompt from GPU memory",
         [&](const auto& run) { return share(Of(run).measured.prompt.gpu, run); });
  AddRow(table, runs, "prompt from host memory",
         [&](const auto& run) { return share(Of(run).measured.prompt.host, run); });
  AddRow(table, runs, "prompt from storage",
         [&](const auto& run) { return share(Of(run).measured.prompt.storage, run); });
  AddRow(table, runs, "prompt computed",
         [&](const auto& run) { return share(Of(run).measured.prompt.missed, run); });
}

void AddStorageRows(cli::TextTable* table, std::span<const PolicyRun> runs) {
  AddStorageRow(table, runs, "read from storage, a rank",
                [](const auto& run) { return base::FormatBytes(Of(run).demand_bytes); });
  AddStorageRow(table, runs, "gap to the bound of its tiers", [](const auto& run) {
    return Of(run).bound_s > 0 ? Percent(Of(run).gap) : std::string(kNothing);
  });
  AddStorageRow(table, runs, "phi, mean (sd)", [](const auto& run) {
    const sim::Distribution& phi = Of(run).phi;
    return phi.count > 0 ? fmt::format("{:.3f} ({:.3f})", phi.mean, phi.sd) : std::string(kNothing);
  });
  AddStorageRow(table, runs, "copies written of a new chunk",
                [](const auto& run) { return fmt::format("{:.2f}", Of(run).write_amplification); });
  AddStorageRow(table, runs, "dropped copies",
                [](const auto& run) { return base::FormatBytes(Of(run).dropped_bytes); });
}

// Index of a tier in a run, by name; runs have different tiers.
const sim::StorageTotals::Tier* FindTier(const PolicyRun& run, const std::string& name) {
  const auto found = std::find(run.tier_names.begin(), run.tier_names.end(), name);
  if (found == run.tier_names.end()) return nullptr;
  return &Of(run).storage.tiers[static_cast<size_t>(found - run.tier_names.begin())];
}

void AddTierRows(cli::TextTable* table, std::span<const PolicyRun> runs, const std::string& name) {
  const auto add = [&](std::string figure,
                       std::function<std::string(const sim::TierActivity&)> format) {
    AddRow(table, runs, fmt::format("{}: {}", name, figure), [&](const PolicyRun& run) {
      const sim::StorageTotals::Tier* const tier = FindTier(run, name);
      return tier == nullptr ? std::string(kNothing) : format(tier->activity);
    });
  };
  add("read", [](const auto& activity) { return base::FormatBytes(activity.read_bytes); });
  add("while reading, a rank", [](const auto& activity) {
    if (!(activity.read_busy_s > 0)) return std::string(kNothing);
    return FormatGigabytes(static_cast<double>(activity.read_bytes) / activity.read_busy_s);
  });
  add("written", [](const auto& activity) { return base::FormatBytes(activity.written_bytes); });
}

std::vector<std::string> AllTiers(std::span<const PolicyRun> runs) {
  std::vector<std::string> names;
  for (const PolicyRun& run : runs) {
    for (const std::string& name : run.tier_names) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

}  // namespace

std::string FormatGigabytes(double bytes_per_second) {
  return fmt::format("{:.3g} GB/s", bytes_per_second / 1e9);
}

std::string DescribeTrace(const trace::RequestTrace& trace) {
  const trace::TraceSummary summary = trace::Summarize(trace);
  const auto requests = static_cast<double>(std::max<uint64_t>(summary.requests, 1));
  std::string arrivals = "closed loop";
  if (trace.clock == trace::ArrivalClock::kSession) arrivals = "turns by think time";
  if (trace.clock == trace::ArrivalClock::kTrace) {
    double last_s = 0;
    for (const auto& request : trace.requests) last_s = std::max(last_s, request.arrival_s);
    arrivals = fmt::format("{:.3g} requests/s over {}", last_s > 0 ? requests / last_s : 0.0,
                           FormatSeconds(last_s));
  }
  return fmt::format(
      "trace    {} ({}): {} requests, {:.0f} prompt and {:.0f} output tokens each,\n"
      "         {} of the chunk accesses are reuses, {} distinct chunks; {}\n",
      trace.source, trace.format, summary.requests,
      static_cast<double>(summary.input_tokens) / requests,
      static_cast<double>(summary.output_tokens) / requests, Percent(summary.reuse),
      summary.unique_chunks, arrivals);
}

std::string DescribeMachine(const Setup& setup, uint64_t host_bytes) {
  const sim::Scenario& scenario = setup.scenario;
  std::string text = fmt::format(
      "machine  {} on {} x {}{}; KV of {} a token and rank; memory for it {} GPU + {} host a "
      "rank\n",
      scenario.model.name, scenario.ranks, scenario.gpu.name,
      scenario.nodes > 1 ? fmt::format(", {} nodes", scenario.nodes) : "",
      base::FormatBytes(scenario.model.RankKvBytesPerToken(scenario.ranks)),
      base::FormatBytes(scenario.memory.gpu_bytes), base::FormatBytes(host_bytes));
  for (const sim::TierModel& tier : setup.tiers) {
    text += fmt::format(
        "tier     {}: {} read, {} write{}{}\n", tier.name, FormatGigabytes(tier.series.base.read),
        FormatGigabytes(tier.series.base.write),
        std::holds_alternative<sim::ConstantShape>(tier.series.shape) ? "" : ", varying",
        tier.shared ? ", shared by all nodes" : "");
  }
  return text;
}

std::string DescribeNotes(const std::vector<std::string>& notes) {
  std::string lines;
  for (const std::string& note : notes) lines += cli::WrapText("note: " + note, kTextColumns);
  return lines;
}

std::string DescribeWarnings(std::span<const PolicyRun* const> runs) {
  std::string lines;
  std::vector<std::string> seen;
  for (const PolicyRun* run : runs) {
    for (const std::string& warning : run->results.warnings) {
      if (std::find(seen.begin(), seen.end(), warning) != seen.end()) continue;
      seen.push_back(warning);
      lines +=
          cli::WrapText(fmt::format("warning ({}): {}", run->policy.label, warning), kTextColumns);
    }
  }
  return lines;
}

std::string RunTable(std::span<const PolicyRun> runs) {
  std::vector<std::string> header = {"policy"};
  for (const PolicyRun& run : runs) header.push_back(run.policy.label);
  cli::TextTable table(std::move(header));
  AddServingRows(&table, runs);
  AddStepRows(&table, runs);
  AddTokenRows(&table, runs);
  const std::vector<std::string> tiers = AllTiers(runs);
  if (!tiers.empty()) AddStorageRows(&table, runs);
  for (const std::string& name : tiers) AddTierRows(&table, runs, name);
  return table.Render();
}

}  // namespace kvstream::kvsim
