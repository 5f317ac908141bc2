#include "sim/write_policy.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"
#include "base/prng.h"

namespace kvstream::sim {
namespace {

TierMask AllTiers(uint32_t tier_count) { return static_cast<TierMask>((1u << tier_count) - 1); }

double Weight(const WriteOptions& options, uint32_t tier) {
  if (options.shares.empty()) return 1;
  return tier < options.shares.size() ? options.shares[tier] : 0;
}

double TotalWeight(const WriteOptions& options, uint32_t tier_count) {
  double total = 0;
  for (uint32_t tier = 0; tier < tier_count; ++tier) total += Weight(options, tier);
  KVS_ASSERT(total > 0);
  return total;
}

uint32_t PlacedTier(const WriteOptions& options, uint32_t tier_count, const StorageChunk& chunk) {
  const double fraction =
      options.placement == Placement::kHash
          ? static_cast<double>(ChunkHash(chunk.id) >> 11) * 0x1.0p-53
          : static_cast<double>(chunk.position) / static_cast<double>(chunk.prefix_chunks);
  const double total = TotalWeight(options, tier_count);
  double end = 0;
  for (uint32_t tier = 0; tier + 1 < tier_count; ++tier) {
    end += Weight(options, tier) / total;
    if (fraction < end) return tier;
  }
  return tier_count - 1;
}

/// First chunk of a prefix that kFraction copies, of `count` in a row.
double FirstCopied(const WriteOptions& options, uint32_t tier_count, double chunks, double count) {
  switch (options.part) {
    case PrefixPart::kHead:
      return 0;
    case PrefixPart::kTail:
      return chunks - count;
    case PrefixPart::kMiddle:
      break;
  }
  const double meeting = chunks * Weight(options, 0) / TotalWeight(options, tier_count);
  return std::clamp(std::floor(meeting - count / 2), 0.0, chunks - count);
}

bool InFraction(const WriteOptions& options, uint32_t tier_count, const StorageChunk& chunk) {
  const auto chunks = static_cast<double>(chunk.prefix_chunks);
  const double count = std::min(chunks, std::ceil(options.fraction * chunks));
  const double first = FirstCopied(options, tier_count, chunks, count);
  const auto position = static_cast<double>(chunk.position);
  return position >= first && position < first + count;
}

}  // namespace

uint64_t ChunkHash(uint32_t id) { return base::Prng(id).Next(); }

TierMask FirstCopies(const WriteOptions& options, uint32_t tier_count, const StorageChunk& chunk) {
  KVS_ASSERT(chunk.position < chunk.prefix_chunks);
  const bool everywhere =
      options.replication == Replication::kFull ||
      (options.replication == Replication::kFraction && InFraction(options, tier_count, chunk));
  if (everywhere) return AllTiers(tier_count);
  return static_cast<TierMask>(1u << PlacedTier(options, tier_count, chunk));
}

}  // namespace kvstream::sim
