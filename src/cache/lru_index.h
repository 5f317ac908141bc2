#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/paged_vector.h"

namespace kvstream::cache {

/// Which chunks one tier holds, in order of use, and how full it is. Pure bookkeeping: no I/O, no
/// clock, no keys. Callers map keys to slots, small dense numbers that may be shared by several
/// indexes; the engine's tiers and the simulator link this same object code.
///
/// Space. `used_bytes` are those of entries, `reserved_bytes` those of files being written or being
/// unlinked. TryReserve and Insert never take their sum above the capacity; Adopt may, because what
/// it describes is on disk already.
///
///   write:  TryReserve(n) … file renamed … Commit(slot, n)      failed write: Release(n)
///   evict:  slot = Victim(); Evict(slot) … file unlinked … Release(bytes)
///
/// Pins belong to slots, not to entries: they survive Evict and Erase, and may come before Commit.
/// A pinned slot is never the victim.
///
/// 24 bytes a slot. Every operation is O(1), amortised; Victim and Unpin O(log n) where pinned
/// slots were passed over. Only Insert, Commit, Adopt, Pin (first use of a slot) and Unpin may
/// allocate. Misuse (committing a present slot, more Unpin than Pin, releasing more than is
/// reserved) aborts. Not thread-safe: the owner's lock protects it.
class LruIndex {
 public:
  /// Largest size of one entry: 1 TiB - 1.
  static constexpr uint64_t kEntryBytesMax = (uint64_t{1} << 40) - 1;

  explicit LruIndex(uint64_t capacity_bytes) : capacity_bytes_(capacity_bytes) {}
  LruIndex(const LruIndex&) = delete;
  LruIndex& operator=(const LruIndex&) = delete;

  /// Adds an absent slot as the most recently used one. False, and nothing done, without room.
  bool Insert(uint32_t slot, uint64_t bytes);
  /// As Insert, for what is on disk already: never refused, even above the capacity.
  void Adopt(uint32_t slot, uint64_t bytes);
  /// Makes a present slot the most recently used one. False if it is absent.
  bool Touch(uint32_t slot);
  /// Forgets a present slot; its bytes are free at once.
  void Erase(uint32_t slot);

  /// Sets room aside. False, and nothing done, without it.
  bool TryReserve(uint64_t bytes);
  /// Turns `bytes` of the reservation into an entry for an absent slot, as the most recently used.
  void Commit(uint32_t slot, uint64_t bytes);
  /// Forgets a present slot; its bytes stay counted, as a reservation, until Release. Returns them.
  uint64_t Evict(uint32_t slot);
  /// Gives `bytes` of the reservation back.
  void Release(uint64_t bytes);

  /// Counted; at most 2 Mi pins a slot.
  void Pin(uint32_t slot);
  void Unpin(uint32_t slot);

  /// The least recently used slot that is not pinned; none if there is no such slot. Keeps it.
  std::optional<uint32_t> Victim();

  bool Contains(uint32_t slot) const { return slot < slots_.size() && slots_[slot].present != 0; }
  bool pinned(uint32_t slot) const { return slot < slots_.size() && slots_[slot].pins != 0; }
  /// Bytes of the slot's entry; 0 if absent.
  uint64_t bytes(uint32_t slot) const { return Contains(slot) ? slots_[slot].bytes : 0; }

  size_t size() const { return size_; }
  uint64_t used_bytes() const { return used_bytes_; }
  uint64_t reserved_bytes() const { return reserved_bytes_; }
  uint64_t capacity_bytes() const { return capacity_bytes_; }
  /// What TryReserve would grant at most.
  uint64_t free_bytes() const {
    const uint64_t taken = used_bytes_ + reserved_bytes_;
    return taken < capacity_bytes_ ? capacity_bytes_ - taken : 0;
  }

  /// Calls visit(slot, bytes) for every entry, least recently used first. `visit` must not change
  /// this index.
  template <typename Visitor>
  void ForEachOldestFirst(Visitor&& visit) const {
    for (uint32_t slot = oldest_; slot != kNone; slot = slots_[slot].newer) {
      visit(slot, uint64_t{slots_[slot].bytes});
    }
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kPinsMax = (1u << 21) - 1;

  struct Slot {
    uint64_t tick;  // of the last use; gives slots that were passed over their order back
    uint32_t older;
    uint32_t newer;
    uint64_t bytes : 40;
    uint64_t pins : 21;
    uint64_t present : 1;
    uint64_t passed : 1;    // older than scan_
    uint64_t returned : 1;  // has an entry with its tick in returned_
  };
  static_assert(sizeof(Slot) == 24);

  using Returned = std::pair<uint64_t, uint32_t>;  // tick, slot

  void Add(uint32_t slot, uint64_t bytes);
  void Remove(uint32_t slot);
  void LinkNewest(uint32_t slot);
  void Unlink(uint32_t slot);
  void PushReturned(uint32_t slot);
  std::optional<uint32_t> OldestReturned();

  uint64_t capacity_bytes_;
  uint64_t used_bytes_ = 0;
  uint64_t reserved_bytes_ = 0;
  size_t size_ = 0;
  uint64_t tick_ = 0;
  base::PagedVector<Slot> slots_;
  uint32_t oldest_ = kNone;
  uint32_t newest_ = kNone;
  // Victim walks from here towards newer slots. Everything older was pinned when it was passed;
  // what has been unpinned since waits in returned_, a heap with the smallest tick on top.
  uint32_t scan_ = kNone;
  std::vector<Returned> returned_;
};

}  // namespace kvstream::cache
