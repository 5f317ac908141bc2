#include "cli/report.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/format.h"
#include "cli/sample_statistics.h"
#include "cli/text_table.h"

namespace kvstream::cli {
namespace {

using Cell = std::function<std::string(const PolicyTotals&)>;

double Seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

uint64_t TierBytes(const PolicyTotals& policy) {
  return std::accumulate(policy.tiers.begin(), policy.tiers.end(), uint64_t{0},
                         [](uint64_t sum, const TierSample& tier) { return sum + tier.bytes; });
}

double Share(const PolicyTotals& policy, size_t tier) {
  const uint64_t all = TierBytes(policy);
  return all > 0 ? static_cast<double>(policy.tiers[tier].bytes) / static_cast<double>(all) : 0;
}

double BusyShare(const PolicyTotals& policy, size_t tier) {
  const double retrieval_s = Seconds(policy.retrieval);
  return retrieval_s > 0 ? Seconds(policy.tiers[tier].busy) / retrieval_s : 0;
}

std::string FormatGap(const PolicyTotals& policy) {
  return policy.bound_s > 0 ? FormatPercent(policy.gap()) : "-";
}

std::string FormatMedianGap(const std::vector<double>& gaps) {
  if (gaps.empty()) return "-";
  const Interval quartiles = Quartiles(gaps);
  return fmt::format("{} ({}..{})", FormatPercent(Median(gaps)), FormatPercent(quartiles.low),
                     FormatPercent(quartiles.high));
}

void AddRow(TextTable* table, std::span<const PolicyTotals> policies, std::string name,
            const Cell& cell) {
  std::vector<std::string> cells = {std::move(name)};
  for (const PolicyTotals& policy : policies) cells.push_back(cell(policy));
  table->AddRow(std::move(cells));
}

void AddTierRows(TextTable* table, std::span<const PolicyTotals> policies,
                 std::span<const std::string> tier_names) {
  for (size_t tier = 0; tier < tier_names.size(); ++tier) {
    AddRow(table, policies, tier_names[tier] + ": share of bytes",
           [tier](const PolicyTotals& policy) { return FormatPercent(Share(policy, tier)); });
    AddRow(table, policies, tier_names[tier] + ": busy", [tier](const PolicyTotals& policy) {
      return fmt::format("{} ({})", FormatSeconds(Seconds(policy.tiers[tier].busy)),
                         FormatPercent(BusyShare(policy, tier)));
    });
  }
}

void AddCeilingRows(TextTable* table, std::span<const PolicyTotals> policies) {
  const bool has_ceiling = std::any_of(policies.begin(), policies.end(), [](const auto& policy) {
    return !policy.ceiling_gaps.empty();
  });
  if (!has_ceiling) return;
  AddRow(table, policies, "bound of the ceiling",
         [](const auto& p) { return FormatSeconds(p.ceiling_bound_s); });
  AddRow(table, policies, "gap to it, median (quartiles)",
         [](const auto& p) { return FormatMedianGap(p.ceiling_gaps); });
}

void AddWaitRows(TextTable* table, std::span<const PolicyTotals> policies) {
  const bool has_waits =
      std::any_of(policies.begin(), policies.end(),
                  [](const PolicyTotals& policy) { return !policy.waits_s.empty(); });
  if (!has_waits) return;
  AddRow(table, policies, "wait, mean",
         [](const PolicyTotals& policy) { return FormatSeconds(Mean(policy.waits_s)); });
  for (const auto& [name, fraction] : {std::pair{"wait, p50", 0.50}, {"wait, p99", 0.99}}) {
    AddRow(table, policies, name, [fraction = fraction](const PolicyTotals& policy) {
      return FormatSeconds(Quantile(policy.waits_s, fraction));
    });
  }
}

uint64_t Sum(std::span<const uint64_t> values) {
  return std::accumulate(values.begin(), values.end(), uint64_t{0});
}

constexpr const char* kDropNames[kDropReasonCount] = {
    "stage_full", "age", "tier_down", "no_space", "io_error", "shutdown", "replaced"};
constexpr const char* kFlushNames[kFlushReasonCount] = {"hint",       "idle",       "age",
                                                        "high_water", "stage_full", "explicit"};

nlohmann::json ByReason(std::span<const uint64_t> counts, std::span<const char* const> names) {
  nlohmann::json object = nlohmann::json::object();
  for (size_t reason = 0; reason < counts.size(); ++reason) object[names[reason]] = counts[reason];
  return object;
}

nlohmann::json TierJson(const TierStats& tier) {
  return {{"name", tier.name},
          {"backend", tier.backend},
          {"landing", tier.landing == Landing::kBounce ? "bounce" : "direct"},
          {"up", tier.up},
          {"read_bytes", tier.read_bytes},
          {"written_bytes", tier.written_bytes},
          {"read_busy_s", Seconds(tier.read_busy)},
          {"write_busy_s", Seconds(tier.write_busy)},
          {"chunks", tier.chunks},
          {"used_bytes", tier.used_bytes},
          {"capacity_bytes", tier.capacity_bytes},
          {"evicted_chunks", tier.evicted_chunks},
          {"window_bytes", tier.window_bytes},
          {"io_errors", tier.io_errors},
          {"short_reads", tier.short_reads},
          {"corrupt_blocks", tier.corrupt_blocks},
          {"stale_copies", tier.stale_copies},
          {"breaker_opened", tier.breaker_opened},
          {"dropped_copies", ByReason(tier.dropped_copies, kDropNames)}};
}

nlohmann::json PolicyTierJson(const PolicyTotals& policy, size_t tier, const std::string& name) {
  return {{"name", name},
          {"bytes", policy.tiers[tier].bytes},
          {"chunks", policy.tiers[tier].chunks},
          {"share", Share(policy, tier)},
          {"busy_s", Seconds(policy.tiers[tier].busy)}};
}

nlohmann::json OnePolicyJson(const PolicyTotals& policy, std::span<const std::string> tier_names) {
  const Interval quartiles = Quartiles(policy.step_gaps);
  nlohmann::json object = {{"policy", policy.policy.label},
                           {"steps", policy.steps},
                           {"bytes", policy.delivered_bytes},
                           {"staged_bytes", policy.staged_bytes},
                           {"bytes_read_twice", policy.twice_bytes},
                           {"missed_chunks", policy.missed_chunks},
                           {"retrieval_s", Seconds(policy.retrieval)},
                           {"bound_s", policy.bound_s},
                           {"gap", policy.gap()},
                           {"gap_median", Median(policy.step_gaps)},
                           {"gap_quartiles", {quartiles.low, quartiles.high}},
                           {"step_gaps", policy.step_gaps},
                           {"steps_with_assumed_bandwidth", policy.assumed_steps},
                           {"bytes_per_second", policy.bytes_per_second()},
                           {"cpu_ms_per_gib", policy.cpu_ms_per_gib()}};
  for (size_t tier = 0; tier < tier_names.size(); ++tier) {
    object["tiers"].push_back(PolicyTierJson(policy, tier, tier_names[tier]));
  }
  if (!policy.ceiling_gaps.empty()) {
    const Interval ceiling = Quartiles(policy.ceiling_gaps);
    object["ceiling"] = {{"bound_s", policy.ceiling_bound_s},
                         {"gap_median", Median(policy.ceiling_gaps)},
                         {"gap_quartiles", {ceiling.low, ceiling.high}},
                         {"step_gaps", policy.ceiling_gaps}};
  }
  if (!policy.waits_s.empty()) {
    object["wait_s"] = {{"mean", Mean(policy.waits_s)},
                        {"p50", Quantile(policy.waits_s, 0.5)},
                        {"p99", Quantile(policy.waits_s, 0.99)}};
  }
  return object;
}

}  // namespace

std::string PolicyTable(std::span<const PolicyTotals> policies,
                        std::span<const std::string> tier_names) {
  std::vector<std::string> header = {"policy"};
  for (const PolicyTotals& policy : policies) header.push_back(policy.policy.label);
  TextTable table(std::move(header));
  AddRow(&table, policies, "steps with reads",
         [](const auto& p) { return fmt::format("{}", p.steps); });
  AddRow(&table, policies, "bytes",
         [](const auto& p) { return base::FormatBytes(p.delivered_bytes); });
  AddRow(&table, policies, "of those from the stage",
         [](const auto& p) { return base::FormatBytes(p.staged_bytes); });
  AddRow(&table, policies, "retrieval time",
         [](const auto& p) { return FormatSeconds(Seconds(p.retrieval)); });
  AddRow(&table, policies, "bound", [](const auto& p) { return FormatSeconds(p.bound_s); });
  AddRow(&table, policies, "gap", FormatGap);
  AddRow(&table, policies, "gap, median (quartiles)",
         [](const auto& p) { return FormatMedianGap(p.step_gaps); });
  AddCeilingRows(&table, policies);
  AddRow(&table, policies, "steps with an assumed bandwidth",
         [](const auto& p) { return fmt::format("{}", p.assumed_steps); });
  AddRow(&table, policies, "bandwidth",
         [](const auto& p) { return base::FormatBandwidth(p.bytes_per_second()); });
  AddTierRows(&table, policies, tier_names);
  AddRow(&table, policies, "read twice",
         [](const auto& p) { return base::FormatBytes(p.twice_bytes); });
  AddRow(&table, policies, "missed chunks",
         [](const auto& p) { return fmt::format("{}", p.missed_chunks); });
  AddRow(&table, policies, "CPU per GiB",
         [](const auto& p) { return fmt::format("{:.1f} ms", p.cpu_ms_per_gib()); });
  AddWaitRows(&table, policies);
  return table.Render();
}

nlohmann::json PolicyJson(std::span<const PolicyTotals> policies,
                          std::span<const std::string> tier_names) {
  nlohmann::json array = nlohmann::json::array();
  for (const PolicyTotals& policy : policies) array.push_back(OnePolicyJson(policy, tier_names));
  return array;
}

std::string EngineTable(const Stats& stats) {
  TextTable table({"tier", "written", "copies", "used", "evicted", "dropped copies", "errors"});
  for (const TierStats& tier : stats.tiers) {
    table.AddRow({tier.name, base::FormatBytes(tier.written_bytes), fmt::format("{}", tier.chunks),
                  base::FormatBytes(tier.used_bytes), fmt::format("{}", tier.evicted_chunks),
                  fmt::format("{}", Sum(tier.dropped_copies)),
                  fmt::format("{}", tier.io_errors + tier.short_reads + tier.corrupt_blocks)});
  }
  return table.Render() + fmt::format(
                              "writes: {} accepted, {} already present, {} dropped without a copy; "
                              "stage peak {} of {}\n",
                              stats.accepted_chunks, stats.already_present_chunks,
                              Sum(stats.dropped_chunks), base::FormatBytes(stats.staged_bytes_peak),
                              base::FormatBytes(stats.stage_capacity_bytes));
}

nlohmann::json EngineJson(const Stats& stats) {
  nlohmann::json object = {
      {"accepted_chunks", stats.accepted_chunks},
      {"settled_chunks", stats.settled_chunks},
      {"already_present_chunks", stats.already_present_chunks},
      {"dropped_chunks", ByReason(stats.dropped_chunks, kDropNames)},
      {"flushed_bytes", ByReason(stats.flushed_bytes, kFlushNames)},
      {"flushed_bytes_during_reads", ByReason(stats.flushed_bytes_during_reads, kFlushNames)},
      {"staged_bytes_peak", stats.staged_bytes_peak},
      {"stage_capacity_bytes", stats.stage_capacity_bytes},
      {"hit_chunks", stats.hit_chunks},
      {"miss_chunks", stats.miss_chunks},
      {"index_chunks", stats.index_chunks}};
  for (const TierStats& tier : stats.tiers) object["tiers"].push_back(TierJson(tier));
  return object;
}

}  // namespace kvstream::cli
