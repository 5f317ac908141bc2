#include "core/chunk_index.h"

#include <cstring>
#include <utility>

#include "base/assert.h"

namespace kvstream::core {
namespace {

constexpr uint64_t kTableSlotsMin = 1024;

}  // namespace

ChunkIndex::ChunkIndex(std::span<const uint64_t> capacity_bytes)
    : table_(kTableSlotsMin), mask_(kTableSlotsMin - 1) {
  for (const uint64_t capacity : capacity_bytes) {
    lru_.push_back(std::make_unique<cache::LruIndex>(capacity));
  }
}

uint32_t ChunkIndex::TagOf(NamespaceId ns, const ChunkKey& key) {
  uint64_t prefix;
  std::memcpy(&prefix, key.bytes.data(), sizeof(prefix));
  return static_cast<uint32_t>((prefix ^ ns) * 0x9e3779b97f4a7c15u >> 32);
}

Slot ChunkIndex::Find(NamespaceId ns, const ChunkKey& key) const {
  const uint32_t tag = TagOf(ns, key);
  for (uint64_t at = tag & mask_; table_[at].stored != 0; at = (at + 1) & mask_) {
    if (table_[at].tag != tag) continue;
    const Slot slot = table_[at].stored - 1;
    const chunk::ChunkMeta& meta = *entries_[slot].meta;
    if (meta.ns == ns && meta.key == key) return slot;
  }
  return kNoSlot;
}

void ChunkIndex::Insert(uint32_t tag, uint32_t stored) {
  uint64_t at = tag & mask_;
  while (table_[at].stored != 0) at = (at + 1) & mask_;
  table_[at] = {tag, stored};
}

Slot ChunkIndex::SetVersion(chunk::MetaRef meta) {
  if (const Slot slot = Find(meta->ns, meta->key); slot != kNoSlot) {
    Entry& entry = entries_[slot];
    KVS_ASSERT(entry.meta->write_id == meta->write_id || !entry.readable());
    entry.meta = std::move(meta);
    return slot;
  }
  if ((size_ + 1) * 3 > table_.size() * 2) Grow();
  const Slot slot = TakeSlot();
  Insert(TagOf(meta->ns, meta->key), slot + 1);
  ++size_;
  entries_[slot] = Entry{};
  entries_[slot].meta = std::move(meta);
  return slot;
}

void ChunkIndex::SetStage(Slot slot, uint32_t stage) {
  entries_[slot].stage = stage;
  if (stage == 0) EraseIfUnused(slot);
}

void ChunkIndex::AddCopy(Slot slot, uint32_t tier, CopyKind kind) {
  Entry& entry = entries_[slot];
  const auto bit = static_cast<TierMask>(1u << tier);
  KVS_ASSERT((entry.holders & bit) == 0);
  entry.holders |= bit;
  entry.seen |= bit;
  ++copies_[tier];
  if (kind == CopyKind::kForeign) return;
  entry.owned |= bit;
  if (kind == CopyKind::kWritten) {
    lru_[tier]->Commit(slot, entry.meta->FileBytes());
  } else {
    lru_[tier]->Adopt(slot, entry.meta->FileBytes());
  }
}

void ChunkIndex::DropCopy(Slot slot, uint32_t tier) {
  Entry& entry = entries_[slot];
  const auto bit = static_cast<TierMask>(1u << tier);
  KVS_ASSERT((entry.holders & bit) != 0);
  if ((entry.owned & bit) != 0) lru_[tier]->Evict(slot);
  entry.holders &= static_cast<TierMask>(~bit);
  entry.owned &= static_cast<TierMask>(~bit);
  --copies_[tier];
  EraseIfUnused(slot);
}

void ChunkIndex::Touch(Slot slot) {
  for (const auto& lru : lru_) lru->Touch(slot);
}

void ChunkIndex::Pin(Slot slot) {
  ++entries_[slot].pins;
  for (const auto& lru : lru_) lru->Pin(slot);
}

void ChunkIndex::Unpin(Slot slot) {
  KVS_ASSERT(entries_[slot].pins > 0);
  --entries_[slot].pins;
  for (const auto& lru : lru_) lru->Unpin(slot);
  EraseIfUnused(slot);
}

std::optional<Slot> ChunkIndex::Victim(uint32_t tier) { return lru_[tier]->Victim(); }

void ChunkIndex::ClearSeen(uint32_t tier) {
  for (Slot slot = 0; slot < entries_.size(); ++slot) {
    entries_[slot].seen &= static_cast<TierMask>(~(1u << tier));
  }
}

void ChunkIndex::MarkSeen(Slot slot, uint32_t tier) {
  entries_[slot].seen |= static_cast<TierMask>(1u << tier);
}

void ChunkIndex::VisitCopies(uint32_t tier, const std::function<void(Slot)>& visit) const {
  for (Slot slot = 0; slot < entries_.size(); ++slot) {
    const Entry& entry = entries_[slot];
    if ((entry.holders >> tier & 1) != 0 && (entry.owned >> tier & 1) == 0) visit(slot);
  }
  lru_[tier]->ForEachOldestFirst([&](uint32_t slot, uint64_t) { visit(slot); });
}

Slot ChunkIndex::TakeSlot() {
  if (!free_slots_.empty()) {
    const Slot slot = free_slots_.back();
    free_slots_.pop_back();
    return slot;
  }
  const Slot slot = static_cast<Slot>(entries_.size());
  entries_.EnsureSize(slot + size_t{1});
  return slot;
}

void ChunkIndex::Grow() {
  const std::vector<Place> old = std::exchange(table_, std::vector<Place>(table_.size() * 2));
  mask_ = table_.size() - 1;
  for (const Place& place : old) {
    if (place.stored != 0) Insert(place.tag, place.stored);
  }
}

void ChunkIndex::EraseIfUnused(Slot slot) {
  Entry& entry = entries_[slot];
  if (entry.readable() || entry.pins > 0) return;
  uint64_t hole = TagOf(entry.meta->ns, entry.meta->key) & mask_;
  while (table_[hole].stored != slot + 1) hole = (hole + 1) & mask_;
  // Backward-shift deletion keeps probe sequences unbroken without tombstones.
  for (uint64_t at = (hole + 1) & mask_; table_[at].stored != 0; at = (at + 1) & mask_) {
    if (((at - table_[at].tag) & mask_) < ((at - hole) & mask_)) continue;
    table_[hole] = table_[at];
    hole = at;
  }
  table_[hole] = {};
  --size_;
  entry = Entry{};
  free_slots_.push_back(slot);
}

}  // namespace kvstream::core
