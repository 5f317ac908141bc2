#include "core/shared_state.h"

#include "base/assert.h"

namespace kvstream::core {
namespace {

std::vector<uint64_t> Capacities(const CoreOptions& options) {
  std::vector<uint64_t> capacities;
  for (const CoreTier& tier : options.tiers) capacities.push_back(tier.capacity_bytes);
  return capacities;
}

}  // namespace

void UnlinkQueue::Push(Item item) {
  names_.insert({item.meta->ns, item.meta->key});
  reserved_bytes_ += item.reserved_bytes;
  waiting_.push_back(std::move(item));
}

UnlinkQueue::Item UnlinkQueue::Pop() {
  KVS_ASSERT(!waiting_.empty());
  Item item = std::move(waiting_.front());
  waiting_.pop_front();
  reserved_bytes_ -= item.reserved_bytes;
  return item;
}

void UnlinkQueue::Done(const chunk::ChunkMeta& meta) {
  const auto found = names_.find({meta.ns, meta.key});
  KVS_ASSERT(found != names_.end());
  names_.erase(found);
}

bool UnlinkQueue::Concerns(NamespaceId ns, const ChunkKey& key) const {
  return names_.contains({ns, key});
}

SharedState::SharedState(const CoreOptions& core_options)
    : options(core_options), index(Capacities(core_options)), unlinks(core_options.tiers.size()) {
  KVS_ASSERT(!options.tiers.empty() && options.tiers.size() <= kTiersMax);
  stats.tiers.resize(options.tiers.size());
  for (uint32_t tier = 0; tier < options.tier_count(); ++tier) {
    stats.tiers[tier].name = options.tiers[tier].name;
    stats.tiers[tier].capacity_bytes = options.tiers[tier].capacity_bytes;
    stats.tiers[tier].landing = options.tiers[tier].bounce ? Landing::kBounce : Landing::kDirect;
  }
  stats.stage_capacity_bytes = options.write.stage_bytes;
}

void SharedState::DropCopy(Slot slot, uint32_t tier) {
  const ChunkIndex::Entry& entry = index.entry(slot);
  if ((entry.owned & Bit(tier)) != 0) {
    unlinks[tier].Push({entry.meta, entry.meta->FileBytes()});
    wake.write |= Bit(tier);
  }
  index.DropCopy(slot, tier);
}

void SharedState::DropCopies(Slot slot, TierMask tiers) {
  // Dropping the last copy may free the slot, so read its holders first.
  const auto held = static_cast<TierMask>(index.entry(slot).holders & tiers);
  for (uint32_t tier = 0; tier < options.tier_count(); ++tier) {
    if ((held & Bit(tier)) != 0) DropCopy(slot, tier);
  }
}

}  // namespace kvstream::core
