#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/bench_context.h"
#include "cli/fio_runner.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "model/bound.h"

namespace kvstream::cli {
namespace {

constexpr std::chrono::milliseconds kFioTime{1000};

// Each tier alone, one after the other. Bytes per second.
Result<std::vector<double>> MeasureAlone(const BenchContext& bench) {
  std::vector<double> ceilings;
  KVS_TRY_ASSIGN(const std::vector<RawTier> tiers, bench.RawTiers());
  for (const RawTier& tier : tiers) {
    if (bench.options().ceiling == Ceiling::kFio) {
      KVS_TRY_ASSIGN(const FioBest best, FindBestFio(tier.files, kFioTime));
      ceilings.push_back(best.result.bytes_per_second);
      fmt::print(bench.out(), "fio on tier {}: {} ({} x {} deep, {})\n", tier.name,
                 base::FormatBandwidth(ceilings.back()), base::FormatBytes(best.shape.block_bytes),
                 best.shape.depth, best.shape.engine);
      continue;
    }
    bench.Pause();
    const std::vector<uint64_t> bytes = {0, bench.step_bytes() / tiers.size()};
    KVS_TRY_ASSIGN(const auto curves, ReadRaw({&tier, 1}, bytes, {}));
    ceilings.push_back(curves[0].bytes_per_second());
    fmt::print(bench.out(), "raw reader on tier {}: {}\n", tier.name,
               base::FormatBandwidth(ceilings.back()));
  }
  return ceilings;
}

class StepBench {
 public:
  explicit StepBench(BenchContext& bench)
      : bench_(bench), bandwidths_(bench.tier_names().size()), progress_(Progress::OnTerminal()) {
    for (const PolicyArg& policy : bench.options().policies) {
      totals_.emplace_back(policy, bench.tier_names().size());
    }
  }

  Status Run() {
    const Ceiling ceiling = bench_.options().ceiling;
    if (ceiling == Ceiling::kFio || ceiling == Ceiling::kLoop) {
      KVS_TRY_ASSIGN(alone_, MeasureAlone(bench_));
    }
    for (uint32_t step = 0; step < bench_.options().warmup && !Interrupted(); ++step) {
      for (PolicyTotals& totals : totals_) KVS_TRY(ReadOnce(&totals, false));
    }
    for (uint32_t step = 0; step < bench_.options().steps && !Interrupted(); ++step) {
      KVS_TRY(RunStep(step));
      progress_.Update(std::chrono::steady_clock::now(),
                       fmt::format("step {} of {}", step + 1, bench_.options().steps));
    }
    progress_.Clear();
    return {};
  }

  const std::vector<PolicyTotals>& totals() const { return totals_; }
  const std::vector<double>& alone() const { return alone_; }

 private:
  Status RunStep(uint32_t step) {
    KVS_TRY(MeasureCeiling());
    for (size_t turn = 0; turn < totals_.size() && !Interrupted(); ++turn) {
      KVS_TRY(ReadOnce(&totals_[(step + turn) % totals_.size()], true));
    }
    return {};
  }

  Status MeasureCeiling() {
    const HolderBytes holders = bench_.Holders();
    if (!alone_.empty()) {
      ceiling_bound_s_ = model::PartialCopyBound(holders.by_mask(), alone_);
    }
    if (bench_.options().ceiling != Ceiling::kRaw) return {};
    KVS_TRY_ASSIGN(const std::vector<RawTier> tiers, bench_.RawTiers());
    bench_.Pause();
    KVS_TRY_ASSIGN(const auto curves, ReadRaw(tiers, holders.by_mask(), {}));
    ceiling_bound_s_ = BoundFromReaders(curves, holders.by_mask());
    return {};
  }

  Status ReadOnce(PolicyTotals* totals, bool count) {
    KVS_TRY(bench_.session().engine().SetRouting(totals->policy.routing));
    const HolderBytes holders = bench_.Holders();
    KVS_TRY_ASSIGN(const ReadSample sample, bench_.Read());
    if (!count || sample.interrupted) return {};
    totals->Add(sample, BoundOfStep(holders, sample, &bandwidths_));
    totals->AddCeiling(sample, ceiling_bound_s_);
    return {};
  }

  BenchContext& bench_;
  TierBandwidths bandwidths_;
  Progress progress_;
  std::vector<PolicyTotals> totals_;
  std::vector<double> alone_;  // empty: not asked for
  double ceiling_bound_s_ = 0;
};

}  // namespace

Status BenchSteps(BenchContext& bench, nlohmann::json* summary) {
  StepBench steps(bench);
  const Status status = steps.Run();
  fmt::print(bench.out(), "\n{}", PolicyTable(steps.totals(), bench.tier_names()));
  (*summary)["policies"] = PolicyJson(steps.totals(), bench.tier_names());
  if (!steps.alone().empty()) (*summary)["ceilings_bytes_per_second"] = steps.alone();
  if (!status) return status.error().Clone();
  return {};
}

}  // namespace kvstream::cli
