#include "route/assignment.h"

#include <bit>

namespace kvstream::route {
namespace {

constexpr TierMask Bit(uint32_t tier) { return static_cast<TierMask>(1u << tier); }

TierMask FirstOf(TierMask holders) {
  return holders == 0 ? TierMask{0} : Bit(static_cast<uint32_t>(std::countr_zero(holders)));
}

/// The tier whose share of [0, 1) contains `fraction`, the shares laid end to end.
uint32_t TierAt(std::span<const double> shares, uint32_t tier_count, double fraction) {
  double total = 0;
  for (uint32_t tier = 0; tier < tier_count; ++tier)
    total += tier < shares.size() ? shares[tier] : 0;
  if (total <= 0) return static_cast<uint32_t>(fraction * tier_count);
  double end = 0;
  for (uint32_t tier = 0; tier + 1 < tier_count; ++tier) {
    end += (tier < shares.size() ? shares[tier] : 0) / total;
    if (fraction < end) return tier;
  }
  return tier_count - 1;
}

uint32_t ChosenTier(const RoutingOptions& options, uint32_t tier_count, const PoolChunk& chunk,
                    double position) {
  switch (options.policy) {
    case Policy::kStaticPosition:
      return TierAt(options.shares, tier_count, position);
    case Policy::kStaticHash:
      return TierAt(options.shares, tier_count, static_cast<double>(chunk.hash >> 11) * 0x1.0p-53);
    case Policy::kRoundRobin:
      return chunk.item % tier_count;
    case Policy::kSingleTier:
    case Policy::kMeetInMiddle:
      break;
  }
  return options.tier;
}

}  // namespace

void Assign(const RoutingOptions& options, uint32_t tier_count, std::span<PoolChunk> chunks) {
  for (size_t i = 0; i < chunks.size(); ++i) {
    PoolChunk& chunk = chunks[i];
    if (options.policy == Policy::kMeetInMiddle) {
      chunk.readers = chunk.holders;
      continue;
    }
    const double position = static_cast<double>(i) / static_cast<double>(chunks.size());
    const TierMask chosen = Bit(ChosenTier(options, tier_count, chunk, position));
    chunk.readers = (chunk.holders & chosen) != 0 ? chosen : FirstOf(chunk.holders);
  }
}

TierMask Reassign(const RoutingOptions& options, const PoolChunk& chunk, TierMask holders) {
  if (options.policy == Policy::kMeetInMiddle) return holders;
  const auto kept = static_cast<TierMask>(chunk.readers & holders);
  return kept != 0 ? kept : FirstOf(holders);
}

}  // namespace kvstream::route
