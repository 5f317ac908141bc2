#include <string_view>

#include <fmt/format.h>

#include "sim/summary.h"

namespace kvstream::sim {
namespace {

// What the paper's runs span (arXiv:2610.31827, Sec 6.1): nothing else has been compared with.
constexpr uint32_t kRanks = 4;
constexpr uint32_t kChunkTokens = 256;
constexpr uint32_t kNodes = 8;
constexpr size_t kTiers = 2;
constexpr double kReadMin = 3.6e9;
constexpr double kReadMax = 13.7e9;
constexpr uint64_t kHostMin = 40'000'000'000;
constexpr uint64_t kHostMax = 90'000'000'000;
constexpr double kUtilisationMax = 0.95;

constexpr std::string_view kOutside = "Outside of what was checked: ";

bool IsCheckedGpu(std::string_view name) { return name == "H100-80GB" || name == "A100-40GB"; }

void WarnOfTiers(const Scenario& scenario, std::vector<std::string>* warnings) {
  if (scenario.tiers.size() > kTiers) {
    warnings->push_back(
        fmt::format("{}{} tiers; runs had at most {}.", kOutside, scenario.tiers.size(), kTiers));
  }
  for (const TierModel& tier : scenario.tiers) {
    const double read = tier.series.base.read;
    if (std::holds_alternative<PointsShape>(tier.series.shape)) continue;
    if (read >= kReadMin && read <= kReadMax) continue;
    warnings->push_back(fmt::format("{}tier {} reads {:.3g} GB/s; runs had {:.3g} to {:.3g}.",
                                    kOutside, tier.name, read / 1e9, kReadMin / 1e9,
                                    kReadMax / 1e9));
  }
}

void WarnOfServing(const Scenario& scenario, std::vector<std::string>* warnings) {
  if (!IsCheckedGpu(scenario.gpu.name)) {
    warnings->push_back(
        fmt::format("{}GPU {}; runs had H100-80GB and A100-40GB.", kOutside, scenario.gpu.name));
  }
  if (scenario.ranks != kRanks) {
    warnings->push_back(fmt::format("{}{} ranks; runs had {}.", kOutside, scenario.ranks, kRanks));
  }
  if (scenario.trace->chunk_tokens != kChunkTokens) {
    warnings->push_back(fmt::format("{}chunks of {} tokens; runs had {}.", kOutside,
                                    scenario.trace->chunk_tokens, kChunkTokens));
  }
  if (scenario.nodes > kNodes) {
    warnings->push_back(
        fmt::format("{}{} nodes; runs had at most {}.", kOutside, scenario.nodes, kNodes));
  }
  const uint64_t host = scenario.memory.host_bytes;
  if (host < kHostMin || host > kHostMax) {
    warnings->push_back(fmt::format("{}{:.3g} GB of host memory a rank; runs had {:.3g} to {:.3g}.",
                                    kOutside, static_cast<double>(host) / 1e9,
                                    static_cast<double>(kHostMin) / 1e9,
                                    static_cast<double>(kHostMax) / 1e9));
  }
}

}  // namespace

std::vector<std::string> RangeWarnings(const Scenario& scenario, const Summary& summary) {
  std::vector<std::string> warnings;
  WarnOfServing(scenario, &warnings);
  WarnOfTiers(scenario, &warnings);
  const bool online = scenario.trace->clock != trace::ArrivalClock::kNone;
  if (online && summary.utilisation > kUtilisationMax) {
    warnings.push_back(
        fmt::format("The nodes are busy {:.0f} % of the time: waiting times near saturation depend "
                    "on the length of the trace; compare ratios only.",
                    summary.utilisation * 100));
  }
  if (summary.refused > 0) {
    warnings.push_back(fmt::format("{} requests need more KV than the GPUs hold and were refused.",
                                   summary.refused));
  }
  if (summary.dropped_bytes > 0) {
    warnings.push_back(
        fmt::format("{:.3g} GB of copies were dropped: the stage or a tier was full.",
                    static_cast<double>(summary.dropped_bytes) / 1e9));
  }
  return warnings;
}

}  // namespace kvstream::sim
