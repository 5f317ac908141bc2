#include "model/demand.h"

#include <cmath>

#include "base/assert.h"

namespace kvstream::model {

uint64_t ReusedVolume(std::span<const ReuseBin> bins) {
  uint64_t volume = 0;
  for (const ReuseBin& bin : bins) {
    KVS_ASSERT(bin.reused_bytes <= UINT64_MAX - volume);
    volume += bin.reused_bytes;
  }
  return volume;
}

uint64_t Demand(std::span<const ReuseBin> bins, uint64_t capacity_bytes) {
  uint64_t demand = 0;
  for (const ReuseBin& bin : bins) {
    if (bin.distance_bytes <= capacity_bytes) continue;
    KVS_ASSERT(bin.reused_bytes <= UINT64_MAX - demand);
    demand += bin.reused_bytes;
  }
  return demand;
}

double CompressedDemand(std::span<const ReuseBin> bins, uint64_t capacity_bytes, double ratio) {
  KVS_ASSERT(std::isfinite(ratio) && ratio >= 1);
  // Distances are whole numbers, so d > r M exactly when d > floor(r M).
  const double fits = std::floor(ratio * static_cast<double>(capacity_bytes));
  const uint64_t compressed_capacity = fits < 0x1p64 ? static_cast<uint64_t>(fits) : UINT64_MAX;
  return static_cast<double>(Demand(bins, compressed_capacity)) / ratio;
}

}  // namespace kvstream::model
