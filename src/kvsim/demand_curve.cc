#include "kvsim/demand_curve.h"

#include <algorithm>
#include <cmath>

#include "kvstream/options.h"

#include "cache/stack_distance.h"

namespace kvstream::kvsim {
namespace {

template <typename Touch>
uint64_t TouchAll(const trace::RequestTrace& trace, Touch touch) {
  std::vector<uint64_t> ids;
  uint64_t accesses = 0;
  for (const trace::Request& request : trace.requests) {
    trace.ChunkIds(request, ids);
    accesses += ids.size();
    for (size_t left = ids.size(); left > 0; --left) touch(ids[left - 1]);
  }
  return accesses;
}

std::vector<uint64_t> DefaultMemory(double unique_bytes) {
  std::vector<uint64_t> memory;
  for (double bytes = kGiB;; bytes *= std::sqrt(2.0)) {
    memory.push_back(static_cast<uint64_t>(bytes));
    if (bytes >= unique_bytes) return memory;
  }
}

double StoredBytes(const DemandOptions& options) {
  return static_cast<double>(options.chunk_bytes) / options.compression;
}

// Adds a point for each memory size: chunks of 1 / r of their bytes mean that r times as many fit,
// and that each miss costs 1 / r of the bytes: D_r = (V / r) Pr[d > r M] (Sec 7).
template <typename Misses>
void AddPoints(const DemandOptions& options, Misses misses, DemandCurve* curve) {
  const double stored_bytes = StoredBytes(options);
  const std::vector<uint64_t> grid =
      options.memory.empty() ? DefaultMemory(curve->unique_chunks * stored_bytes) : options.memory;
  for (const uint64_t bytes : grid) {
    DemandPoint point = misses(static_cast<uint64_t>(static_cast<double>(bytes) / stored_bytes));
    point.memory_bytes = bytes;
    point.demand_bytes = point.miss_ratio * curve->reuses * stored_bytes;
    curve->points.push_back(point);
  }
}

ReuseDistances QuantilesOf(const cache::ReuseHistogram& histogram, const DemandOptions& options) {
  if (histogram.reuses() == 0) return {};
  const auto at = [&](uint64_t percent) {
    const uint64_t rank = (histogram.reuses() - 1) * percent / 100;
    const auto chunks = static_cast<double>(histogram.DistanceOfRank(rank) + 1);
    return static_cast<uint64_t>(chunks * StoredBytes(options));
  };
  return {.p10 = at(10), .p50 = at(50), .p90 = at(90), .p99 = at(99)};
}

DemandCurve ExactCurve(const trace::RequestTrace& trace, const DemandOptions& options) {
  cache::StackDistances distances;
  cache::ReuseHistogram histogram;
  DemandCurve curve;
  curve.accesses = TouchAll(
      trace, [&](uint64_t id) { histogram.Record(distances.Touch(static_cast<uint32_t>(id))); });
  curve.reuses = static_cast<double>(histogram.reuses());
  curve.unique_chunks = static_cast<double>(histogram.first_touches());
  curve.distances = QuantilesOf(histogram, options);
  const auto misses = [&histogram](uint64_t capacity) {
    const uint64_t missed = histogram.reuses() - histogram.ReusesCloserThan(capacity);
    const auto all = static_cast<double>(std::max<uint64_t>(histogram.reuses(), 1));
    return DemandPoint{.miss_ratio = static_cast<double>(missed) / all};
  };
  AddPoints(options, misses, &curve);
  return curve;
}

DemandCurve SampledCurve(const trace::RequestTrace& trace, const DemandOptions& options) {
  cache::SampledStackDistances distances(options.rate, options.seed);
  DemandCurve curve;
  curve.rate = options.rate;
  curve.accesses = TouchAll(trace, [&](uint64_t id) { distances.Touch(id); });
  curve.unique_chunks = distances.distinct();
  const auto accesses = static_cast<double>(curve.accesses);
  curve.reuses = std::max(accesses - curve.unique_chunks, 0.0);
  const auto misses = [&](uint64_t capacity) {
    const auto estimate = distances.MissRatio(capacity);
    const double reuses = std::max(curve.reuses, 1.0);
    const double missed = estimate.miss_ratio * accesses - curve.unique_chunks;
    return DemandPoint{.miss_ratio = std::clamp(missed / reuses, 0.0, 1.0),
                       .error = estimate.standard_error * accesses / reuses};
  };
  AddPoints(options, misses, &curve);
  return curve;
}

}  // namespace

DemandCurve ComputeDemandCurve(const trace::RequestTrace& trace, const DemandOptions& options) {
  return options.rate < 1 ? SampledCurve(trace, options) : ExactCurve(trace, options);
}

}  // namespace kvstream::kvsim
