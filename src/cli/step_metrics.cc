#include "cli/step_metrics.h"

#include <cmath>
#include <numeric>

#include "base/assert.h"
#include "model/bound.h"

namespace kvstream::cli {
namespace {

double Seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

uint64_t HolderBytes::total() const {
  return std::accumulate(by_mask_.begin(), by_mask_.end(), uint64_t{0});
}

size_t TierBandwidths::Update(std::span<const TierSample> tiers) {
  KVS_ASSERT(tiers.size() == last_.size());
  size_t assumed = 0;
  for (size_t tier = 0; tier < tiers.size(); ++tier) {
    if (tiers[tier].bytes > 0 && tiers[tier].busy > std::chrono::nanoseconds{0}) {
      last_[tier] = static_cast<double>(tiers[tier].bytes) / Seconds(tiers[tier].busy);
    } else {
      ++assumed;
    }
  }
  return assumed;
}

StepBound BoundOfStep(const HolderBytes& demand, const ReadSample& sample,
                      TierBandwidths* bandwidths) {
  StepBound bound;
  bound.assumed = bandwidths->Update(sample.tiers);
  bound.seconds = model::PartialCopyBound(demand.by_mask(), bandwidths->values());
  return bound;
}

void PolicyTotals::Add(const ReadSample& sample, const StepBound& bound) {
  ++steps;
  delivered_bytes += sample.delivered_bytes;
  staged_bytes += sample.staged_bytes;
  twice_bytes += sample.twice_bytes;
  missed_chunks += sample.missed.size();
  retrieval += sample.retrieval;
  cpu += sample.cpu;
  for (size_t tier = 0; tier < tiers.size(); ++tier) {
    tiers[tier].bytes += sample.tiers[tier].bytes;
    tiers[tier].chunks += sample.tiers[tier].chunks;
    tiers[tier].busy += sample.tiers[tier].busy;
    tiers[tier].written_bytes += sample.tiers[tier].written_bytes;
    tiers[tier].write_busy += sample.tiers[tier].write_busy;
  }
  if (!(bound.seconds > 0) || !std::isfinite(bound.seconds)) return;
  assumed_steps += bound.assumed > 0 ? 1 : 0;
  bounded_retrieval_s += Seconds(sample.retrieval);
  bound_s += bound.seconds;
  step_gaps.push_back(Seconds(sample.retrieval) / bound.seconds - 1);
}

void PolicyTotals::AddCeiling(const ReadSample& sample, double bound_seconds) {
  if (!(bound_seconds > 0) || !std::isfinite(bound_seconds)) return;
  ceiling_bound_s += bound_seconds;
  ceiling_gaps.push_back(Seconds(sample.retrieval) / bound_seconds - 1);
}

double PolicyTotals::gap() const { return bound_s > 0 ? bounded_retrieval_s / bound_s - 1 : 0; }

double PolicyTotals::bytes_per_second() const {
  const double seconds = Seconds(retrieval);
  return seconds > 0 ? static_cast<double>(delivered_bytes) / seconds : 0;
}

double PolicyTotals::cpu_ms_per_gib() const {
  if (delivered_bytes == 0) return 0;
  return Seconds(cpu) * 1e3 / (static_cast<double>(delivered_bytes) / static_cast<double>(kGiB));
}

}  // namespace kvstream::cli
