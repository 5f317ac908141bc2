#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kvstream/engine.h"

#include "base/paged_vector.h"
#include "cache/lru_index.h"
#include "chunk/chunk_meta.h"

namespace kvstream::core {

/// Dense handle of a chunk in the index; reused after the chunk is gone.
using Slot = uint32_t;
inline constexpr Slot kNoSlot = ~Slot{0};

/// Which chunks exist, in which version, on which tiers, and each tier's LRU order and space.
///
/// One open-addressing table from (namespace, key) to slots, one entry a slot, one LRU a tier. A
/// lookup costs one probe sequence and no allocation; about 200 bytes a 16 MiB chunk on two tiers
/// in all. A slot lives while a tier holds the chunk, the stage has it, or somebody pins it.
class ChunkIndex {
 public:
  struct Entry {
    chunk::MetaRef meta;  // the current version, or the last one while only pins keep the slot
    uint32_t stage = 0;   // names the staged copy of `meta`; 0 is none
    uint32_t pins = 0;
    TierMask holders = 0;
    TierMask owned = 0;  // of `holders`, written and accounted for by this owner
    TierMask seen = 0;   // of `holders`, met by the running scan

    bool readable() const { return holders != 0 || stage != 0; }
  };

  explicit ChunkIndex(std::span<const uint64_t> capacity_bytes);

  Slot Find(NamespaceId ns, const ChunkKey& key) const;
  /// Brings what Find looks at first into the cache.
  void Prefetch(NamespaceId ns, const ChunkKey& key) const {
    __builtin_prefetch(&table_[TagOf(ns, key) & mask_]);
  }
  /// The slot of the version's key, created without copies and pins if there is none. Makes `meta`
  /// the chunk's version; copies of another version must have been dropped.
  Slot SetVersion(chunk::MetaRef meta);
  const Entry& entry(Slot slot) const { return entries_[slot]; }

  void SetStage(Slot slot, uint32_t stage);

  enum class CopyKind : uint8_t {
    kWritten,  ///< This owner's, just published; its bytes are reserved on the tier.
    kFound,    ///< This owner's, found on disk.
    kForeign,  ///< Another owner's: readable, not accounted for, never evicted.
  };
  /// Records a copy of the current version on a tier.
  void AddCopy(Slot slot, uint32_t tier, CopyKind kind);
  /// Forgets the copy. An owned copy's bytes stay reserved until ReleaseSpace, since its file is
  /// there.
  void DropCopy(Slot slot, uint32_t tier);
  void Touch(Slot slot);

  /// Pinned chunks are not victims and keep their slot. Counted.
  void Pin(Slot slot);
  void Unpin(Slot slot);

  bool TryReserve(uint32_t tier, uint64_t bytes) { return lru_[tier]->TryReserve(bytes); }
  void ReleaseSpace(uint32_t tier, uint64_t bytes) { lru_[tier]->Release(bytes); }
  /// The owned copy to evict next on the tier, if any may be.
  std::optional<Slot> Victim(uint32_t tier);
  /// Bytes of this owner on the tier: copies, files being written, files not yet unlinked.
  uint64_t used_bytes(uint32_t tier) const {
    return lru_[tier]->used_bytes() + lru_[tier]->reserved_bytes();
  }
  uint64_t capacity_bytes(uint32_t tier) const { return lru_[tier]->capacity_bytes(); }
  uint64_t copies(uint32_t tier) const { return copies_[tier]; }
  uint64_t size() const { return size_; }

  void ClearSeen(uint32_t tier);
  void MarkSeen(Slot slot, uint32_t tier);
  /// Calls `visit` for every live slot that holds a copy on the tier: first those others own, then
  /// this owner's from least to most recently used. `visit` must not change the index.
  void VisitCopies(uint32_t tier, const std::function<void(Slot)>& visit) const;

 private:
  /// One place of the table. The tag is part of the key's hash: it gives the place where the probe
  /// sequence begins, and tells most other keys apart without touching their entries.
  struct Place {
    uint32_t tag = 0;
    uint32_t stored = 0;  // slot + 1; 0 empty
  };

  static uint32_t TagOf(NamespaceId ns, const ChunkKey& key);
  void Insert(uint32_t tag, uint32_t stored);
  Slot TakeSlot();
  void Grow();
  void EraseIfUnused(Slot slot);

  base::PagedVector<Entry> entries_;
  std::vector<Slot> free_slots_;
  std::vector<Place> table_;  // linear probing, backward-shift deletion
  uint64_t mask_ = 0;
  uint64_t size_ = 0;
  std::vector<std::unique_ptr<cache::LruIndex>> lru_;
  std::array<uint64_t, kTiersMax> copies_{};
};

}  // namespace kvstream::core
