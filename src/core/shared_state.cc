#include "core/shared_state.h"

#include <algorithm>

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
  if (item.temp_of == 0) names_.insert({item.meta->ns, item.meta->key});
  reserved_bytes_ += item.reserved_bytes;
  waiting_.push_back(std::move(item));
}

UnlinkQueue::Item UnlinkQueue::Pop() {
  if (waiting_.empty()) {
    KVS_ASSERT(!failed_.empty());
    Item item = std::move(failed_.front().item);
    failed_.pop_front();
    return item;
  }
  Item item = std::move(waiting_.front());
  waiting_.pop_front();
  reserved_bytes_ -= item.reserved_bytes;
  return item;
}

void UnlinkQueue::Done(const Item& item) {
  if (item.temp_of != 0) return;
  const auto found = names_.find({item.meta->ns, item.meta->key});
  KVS_ASSERT(found != names_.end());
  names_.erase(found);
}

void UnlinkQueue::Failed(Item item, TimePoint retry_at) {
  KVS_ASSERT(failed_.empty() || failed_.back().retry_at <= retry_at);
  failed_.push_back({std::move(item), retry_at});
}

bool UnlinkQueue::Concerns(NamespaceId ns, const ChunkKey& key) const {
  return names_.contains({ns, key});
}

bool UnlinkQueue::HasFailed(NamespaceId ns, const ChunkKey& key) const {
  return std::ranges::any_of(failed_, [&](const Retry& retry) {
    const chunk::ChunkMeta& meta = *retry.item.meta;
    return retry.item.temp_of == 0 && meta.ns == ns && meta.key == key;
  });
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

void SharedState::QueueUnlink(uint32_t tier, UnlinkQueue::Item item) {
  unlinks[tier].Push(std::move(item));
  wake.write |= Bit(tier);
  wake.memory = true;  // it may have to wait for the idle delay
}

void SharedState::DropCopy(Slot slot, uint32_t tier) {
  const ChunkIndex::Entry& entry = index.entry(slot);
  if ((entry.owned & Bit(tier)) != 0) {
    QueueUnlink(tier, {entry.meta, entry.meta->FileBytes()});
  }
  index.DropCopy(slot, tier);
}

void SharedState::ForgetCopy(Slot slot, uint32_t tier) {
  const ChunkIndex::Entry& entry = index.entry(slot);
  const bool owned = (entry.owned & Bit(tier)) != 0;
  const uint64_t bytes = entry.meta->FileBytes();
  index.DropCopy(slot, tier);
  if (owned) index.ReleaseSpace(tier, bytes);
}

void SharedState::DropCopies(Slot slot, TierMask tiers) {
  // Dropping the last copy may free the slot, so read its holders first.
  const auto held = static_cast<TierMask>(index.entry(slot).holders & tiers);
  for (uint32_t tier = 0; tier < options.tier_count(); ++tier) {
    if ((held & Bit(tier)) != 0) DropCopy(slot, tier);
  }
}

}  // namespace kvstream::core
