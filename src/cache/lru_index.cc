#include "cache/lru_index.h"

#include <algorithm>
#include <functional>

#include "base/assert.h"

namespace kvstream::cache {

bool LruIndex::Insert(uint32_t slot, uint64_t bytes) {
  if (bytes > free_bytes()) return false;
  Add(slot, bytes);
  return true;
}

void LruIndex::Adopt(uint32_t slot, uint64_t bytes) { Add(slot, bytes); }

bool LruIndex::Touch(uint32_t slot) {
  if (!Contains(slot)) return false;
  Unlink(slot);
  LinkNewest(slot);
  return true;
}

void LruIndex::Erase(uint32_t slot) { Remove(slot); }

bool LruIndex::TryReserve(uint64_t bytes) {
  if (bytes > free_bytes()) return false;
  reserved_bytes_ += bytes;
  return true;
}

void LruIndex::Commit(uint32_t slot, uint64_t bytes) {
  Release(bytes);
  Add(slot, bytes);
}

uint64_t LruIndex::Evict(uint32_t slot) {
  const uint64_t freed = bytes(slot);
  Remove(slot);
  reserved_bytes_ += freed;
  return freed;
}

void LruIndex::Release(uint64_t bytes) {
  KVS_ASSERT(bytes <= reserved_bytes_);
  reserved_bytes_ -= bytes;
}

void LruIndex::Pin(uint32_t slot) {
  KVS_ASSERT(slot != kNone);
  slots_.EnsureSize(size_t{slot} + 1);
  KVS_ASSERT(slots_[slot].pins < kPinsMax);
  ++slots_[slot].pins;
}

void LruIndex::Unpin(uint32_t slot) {
  KVS_ASSERT(pinned(slot));
  Slot& unpinned = slots_[slot];
  --unpinned.pins;
  if (unpinned.pins == 0 && unpinned.passed != 0 && unpinned.returned == 0) PushReturned(slot);
}

std::optional<uint32_t> LruIndex::Victim() {
  // Slots that were passed over are older than all others.
  if (const std::optional<uint32_t> slot = OldestReturned()) return slot;
  while (scan_ != kNone && slots_[scan_].pins != 0) {
    slots_[scan_].passed = 1;
    scan_ = slots_[scan_].newer;
  }
  if (scan_ == kNone) return std::nullopt;
  return scan_;
}

void LruIndex::Add(uint32_t slot, uint64_t bytes) {
  KVS_ASSERT(slot != kNone && bytes <= kEntryBytesMax && !Contains(slot));
  slots_.EnsureSize(size_t{slot} + 1);
  slots_[slot].bytes = bytes & kEntryBytesMax;
  slots_[slot].present = 1;
  LinkNewest(slot);
  used_bytes_ += bytes;
  ++size_;
}

void LruIndex::Remove(uint32_t slot) {
  KVS_ASSERT(Contains(slot));
  Unlink(slot);
  Slot& removed = slots_[slot];
  removed.present = 0;
  removed.passed = 0;
  removed.returned = 0;
  used_bytes_ -= removed.bytes;
  --size_;
}

void LruIndex::LinkNewest(uint32_t slot) {
  Slot& linked = slots_[slot];
  linked.tick = ++tick_;
  linked.passed = 0;
  linked.returned = 0;
  linked.older = newest_;
  linked.newer = kNone;
  (newest_ == kNone ? oldest_ : slots_[newest_].newer) = slot;
  newest_ = slot;
  if (scan_ == kNone) scan_ = slot;
}

void LruIndex::Unlink(uint32_t slot) {
  const Slot& unlinked = slots_[slot];
  (unlinked.older == kNone ? oldest_ : slots_[unlinked.older].newer) = unlinked.newer;
  (unlinked.newer == kNone ? newest_ : slots_[unlinked.newer].older) = unlinked.older;
  if (scan_ == slot) scan_ = unlinked.newer;
}

void LruIndex::PushReturned(uint32_t slot) {
  slots_[slot].returned = 1;
  returned_.emplace_back(slots_[slot].tick, slot);
  std::push_heap(returned_.begin(), returned_.end(), std::greater<>());
}

// Entries go stale when their slot is used or removed, and useless while it is pinned again; they
// are dropped here. A slot has one entry at most until it is used, and can be passed again only
// once the heap is empty, so the heap never outgrows the number of slots.
std::optional<uint32_t> LruIndex::OldestReturned() {
  while (!returned_.empty()) {
    const auto [tick, slot] = returned_.front();
    Slot& top = slots_[slot];
    const bool current = top.returned != 0 && top.tick == tick;
    if (current && top.pins == 0) return slot;
    if (current) top.returned = 0;
    std::pop_heap(returned_.begin(), returned_.end(), std::greater<>());
    returned_.pop_back();
  }
  return std::nullopt;
}

}  // namespace kvstream::cache
