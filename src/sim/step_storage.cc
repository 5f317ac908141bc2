#include "sim/step_storage.h"

namespace kvstream::sim {

TierActivity operator-(const TierActivity& later, const TierActivity& earlier) {
  return {.read_bytes = later.read_bytes - earlier.read_bytes,
          .read_chunks = later.read_chunks - earlier.read_chunks,
          .read_busy_s = later.read_busy_s - earlier.read_busy_s,
          .written_bytes = later.written_bytes - earlier.written_bytes,
          .write_busy_s = later.write_busy_s - earlier.write_busy_s};
}

double StorageTotals::write_amplification() const {
  if (new_bytes == 0) return 0;
  uint64_t written = 0;
  for (const Tier& tier : tiers) written += tier.activity.written_bytes;
  return static_cast<double>(written) / static_cast<double>(new_bytes);
}

}  // namespace kvstream::sim
