#include "kvsim/demand_curve.h"

#include <algorithm>
#include <cmath>
#include <functional>

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

using Misses = std::function<DemandPoint(uint64_t capacity_chunks)>;

void AddPoints(uint64_t chunk_bytes, std::span<const uint64_t> memory, const Misses& misses,
               DemandCurve* curve) {
  const double unique_bytes = curve->unique_chunks * static_cast<double>(chunk_bytes);
  const std::vector<uint64_t> grid = memory.empty()
                                         ? DefaultMemory(unique_bytes)
                                         : std::vector<uint64_t>(memory.begin(), memory.end());
  for (const uint64_t bytes : grid) {
    DemandPoint point = misses(bytes / chunk_bytes);
    point.memory_bytes = bytes;
    point.demand_bytes = point.miss_ratio * curve->reuses * static_cast<double>(chunk_bytes);
    curve->points.push_back(point);
  }
}

DemandCurve ExactCurve(const trace::RequestTrace& trace, uint64_t chunk_bytes,
                       std::span<const uint64_t> memory) {
  cache::StackDistances distances;
  cache::ReuseHistogram histogram;
  DemandCurve curve;
  curve.accesses = TouchAll(
      trace, [&](uint64_t id) { histogram.Record(distances.Touch(static_cast<uint32_t>(id))); });
  curve.reuses = static_cast<double>(histogram.reuses());
  curve.unique_chunks = static_cast<double>(histogram.first_touches());
  AddPoints(
      chunk_bytes, memory,
      [&histogram](uint64_t capacity) {
        const uint64_t missed = histogram.reuses() - histogram.ReusesCloserThan(capacity);
        const auto all = static_cast<double>(std::max<uint64_t>(histogram.reuses(), 1));
        return DemandPoint{.miss_ratio = static_cast<double>(missed) / all};
      },
      &curve);
  return curve;
}

DemandCurve SampledCurve(const trace::RequestTrace& trace, uint64_t chunk_bytes, double rate,
                         std::span<const uint64_t> memory, uint64_t seed) {
  cache::SampledStackDistances distances(rate, seed);
  DemandCurve curve;
  curve.rate = rate;
  curve.accesses = TouchAll(trace, [&](uint64_t id) { distances.Touch(id); });
  curve.unique_chunks = distances.distinct();
  const auto accesses = static_cast<double>(curve.accesses);
  curve.reuses = std::max(accesses - curve.unique_chunks, 0.0);
  AddPoints(
      chunk_bytes, memory,
      [&](uint64_t capacity) {
        const auto estimate = distances.MissRatio(capacity);
        const double reuses = std::max(curve.reuses, 1.0);
        const double missed = estimate.miss_ratio * accesses - curve.unique_chunks;
        return DemandPoint{.miss_ratio = std::clamp(missed / reuses, 0.0, 1.0),
                           .error = estimate.standard_error * accesses / reuses};
      },
      &curve);
  return curve;
}

}  // namespace

DemandCurve ComputeDemandCurve(const trace::RequestTrace& trace, uint64_t chunk_bytes, double rate,
                               std::span<const uint64_t> memory, uint64_t seed) {
  if (rate < 1) return SampledCurve(trace, chunk_bytes, rate, memory, seed);
  return ExactCurve(trace, chunk_bytes, memory);
}

}  // namespace kvstream::kvsim
