#include "kvsim/tier_spec.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include "kvsim/bandwidth_file.h"

namespace kvstream::kvsim {
namespace {

Error Invalid(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

Status ReadLatency(Settings& settings, sim::LatencyModel* latency) {
  KVS_TRY(settings.ReadSeconds("latency.median", &latency->median_s));
  KVS_TRY(settings.ReadNumber("latency.sigma", &latency->sigma));
  KVS_TRY(settings.ReadNumber("latency.tail_probability", &latency->tail_probability));
  return settings.ReadNumber("latency.tail_factor", &latency->tail_factor);
}

Status ReadSquareWave(Settings& settings, sim::BandwidthSeries* series) {
  sim::SquareWaveShape wave;
  KVS_TRY(settings.ReadSeconds("load.period", &wave.period_s));
  KVS_TRY(settings.ReadNumber("load.duty", &wave.duty));
  KVS_TRY(settings.ReadNumber("load.factor", &wave.low_factor));
  series->shape = wave;
  return {};
}

Status ReadBursts(Settings& settings, sim::BandwidthSeries* series) {
  sim::BurstsShape bursts;
  KVS_TRY(settings.ReadSeconds("load.on", &bursts.on_mean_s));
  KVS_TRY(settings.ReadSeconds("load.off", &bursts.off_mean_s));
  KVS_TRY(settings.ReadNumber("load.factor", &bursts.factor));
  series->shape = bursts;
  return {};
}

Status ReadOffset(Settings& settings, sim::BandwidthSeries* series) {
  sim::OffsetShape offset;
  KVS_TRY(settings.ReadBandwidth("load.read", &offset.taken.read));
  KVS_TRY(settings.ReadBandwidth("load.write", &offset.taken.write));
  KVS_TRY(settings.ReadSeconds("load.from", &offset.from_s));
  KVS_TRY(settings.ReadSeconds("load.until", &offset.until_s));
  series->shape = offset;
  return {};
}

Status ReadLognormal(Settings& settings, sim::BandwidthSeries* series) {
  sim::LognormalShape lognormal;
  KVS_TRY(settings.ReadSeconds("load.step", &lognormal.step_s));
  KVS_TRY(settings.ReadNumber("load.sigma", &lognormal.sigma));
  KVS_TRY(settings.ReadNumber("load.correlation", &lognormal.correlation));
  series->shape = lognormal;
  return {};
}

Status ReadPoints(Settings& settings, const std::string& folder, const std::string& tier,
                  sim::BandwidthSeries* series) {
  std::string file;
  KVS_TRY(settings.ReadText("load.file", &file));
  if (file.empty()) return settings.Refuse("load.shape", "csv needs load.file");
  const std::filesystem::path path = std::filesystem::path(folder) / file;
  KVS_TRY_ASSIGN(sim::PointsShape points, ReadBandwidthFile(path.string(), tier));
  // The only point that may not be 0: shares of first copies are made from it.
  series->base = points.points.back().bandwidth;
  series->shape = std::move(points);
  return {};
}

Status ReadLoad(Settings& settings, const std::string& folder, const std::string& tier,
                sim::BandwidthSeries* series) {
  std::string shape = "constant";
  KVS_TRY(settings.ReadText("load.shape", &shape));
  if (shape == "constant") return {};
  if (shape == "square") return ReadSquareWave(settings, series);
  if (shape == "bursts") return ReadBursts(settings, series);
  if (shape == "offset") return ReadOffset(settings, series);
  if (shape == "lognormal") return ReadLognormal(settings, series);
  if (shape == "csv") return ReadPoints(settings, folder, tier, series);
  return settings.Refuse("load.shape",
                         fmt::format("'{}' is none of constant, square, bursts, offset, lognormal, "
                                     "csv",
                                     shape));
}

Status ReadTier(Settings& settings, const TierSpec& spec, sim::TierModel* tier) {
  KVS_TRY(settings.ReadText("name", &tier->name));
  if (tier->name.empty()) return Invalid(spec.origin + ": a tier without a name");
  KVS_TRY(settings.ReadBandwidth("read", &tier->series.base.read));
  tier->series.base.write = tier->series.base.read;
  KVS_TRY(settings.ReadBandwidth("write", &tier->series.base.write));
  KVS_TRY(settings.ReadBytes("capacity", &tier->capacity_bytes));
  KVS_TRY(settings.ReadNumber("interference", &tier->interference));
  KVS_TRY(settings.ReadBool("shared", &tier->shared));
  KVS_TRY(settings.ReadBandwidth("total_read", &tier->total.read));
  KVS_TRY(settings.ReadBandwidth("total_write", &tier->total.write));
  for (const char* key : {"total_read", "total_write"}) {
    if (settings.Has(key) && !tier->shared) return settings.Refuse(key, "needs shared = true");
  }
  KVS_TRY(ReadLatency(settings, &tier->latency));
  KVS_TRY(ReadLoad(settings, spec.folder, tier->name, &tier->series));
  if (!settings.Has("read") && !std::holds_alternative<sim::PointsShape>(tier->series.shape)) {
    return Invalid(fmt::format("{}: tier {}: no read bandwidth", spec.origin, tier->name));
  }
  return {};
}

}  // namespace

Result<TierSpec> ParseTierFlag(std::string_view text) {
  TierSpec spec;
  spec.origin = fmt::format("--tier {}", text.substr(0, text.find('=')));
  bool first = true;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    const size_t equals = part.find('=');
    if (equals == 0 || equals == std::string_view::npos) {
      return Invalid(fmt::format("--tier {}: '{}': expected {}", text, part,
                                 first ? "NAME=READ, as in nvme=7GB/s" : "KEY=VALUE"));
    }
    std::string key(part.substr(0, equals));
    if (first) spec.settings.push_back({"name", std::exchange(key, "read"), spec.origin});
    spec.settings.push_back({std::move(key), std::string(part.substr(equals + 1)), spec.origin});
    first = false;
    begin = end + 1;
  }
  return spec;
}

Result<sim::TierModel> BuildTier(const TierSpec& spec) {
  KVS_TRY_ASSIGN(Settings settings, Settings::Make(spec.settings));
  sim::TierModel tier;
  KVS_TRY(ReadTier(settings, spec, &tier));
  KVS_TRY(settings.CheckAllKnown());
  if (auto valid = sim::Validate(tier); !valid) {
    return std::move(valid).error().WithContext(spec.origin);
  }
  return tier;
}

std::optional<std::string> AssumptionOf(const TierSpec& spec) {
  const auto settings = Settings::Make(spec.settings);
  if (!settings || !settings->Has("read") || settings->Has("write")) return std::nullopt;
  return fmt::format("{}: no write bandwidth given; taken to be that of reads.", spec.origin);
}

}  // namespace kvstream::kvsim
