#pragma once

#include <deque>
#include <unordered_set>
#include <vector>

#include "chunk/key_hash.h"
#include "core/chunk_index.h"
#include "core/ops.h"
#include "kvstream/engine.h"
#include "kvstream/options.h"
#include "kvstream/stats.h"

namespace kvstream::core {

/// One tier as the core sees it: options resolved by the probe at open.
struct CoreTier {
  std::string name;
  uint64_t capacity_bytes = 0;
  bool bounce = false;  ///< Landing.
  bool shared = false;
  uint64_t window_bytes_max = 64 * kMiB;
};

struct CoreOptions {
  std::vector<CoreTier> tiers;
  RoutingOptions routing;
  WriteOptions write;
  std::chrono::nanoseconds lease_ttl = std::chrono::seconds(60);
  std::chrono::nanoseconds hang_after = std::chrono::seconds(2);
  uint32_t block_bytes = chunk::kBlockBytes;
  /// Engine blocks for bounced reads, shared out equally among the tiers.
  uint64_t bounce_blocks = 128;
  /// Of write ids. Different in each process.
  uint64_t seed = 0;

  uint32_t tier_count() const { return static_cast<uint32_t>(tiers.size()); }
};

/// Lanes that have something to do since the mask was last taken.
struct WakeMask {
  TierMask read = 0;
  TierMask write = 0;
  bool memory = false;
};

/// Files to remove on one tier, oldest first.
class UnlinkQueue {
 public:
  struct Item {
    chunk::MetaRef meta;
    uint64_t reserved_bytes = 0;  ///< Given back when the file is gone.
  };

  void Push(Item item);
  bool empty() const { return waiting_.empty(); }
  /// What the waiting items will give back.
  uint64_t reserved_bytes() const { return reserved_bytes_; }
  Item Pop();
  /// The file is gone, or cannot be removed.
  void Done(const chunk::ChunkMeta& meta);
  /// Whether a removal of this chunk's file waits or runs: until then no new version may be published,
  /// since both have one name.
  bool Concerns(NamespaceId ns, const ChunkKey& key) const;

 private:
  struct Name {
    NamespaceId ns;
    ChunkKey key;
    friend bool operator==(const Name&, const Name&) = default;
  };
  struct NameHash {
    size_t operator()(const Name& name) const { return chunk::ChunkKeyHash{}(name.key) ^ name.ns; }
  };

  std::deque<Item> waiting_;
  uint64_t reserved_bytes_ = 0;
  std::unordered_multiset<Name, NameHash> names_;
};

/// What the parts of the core have in common.
struct SharedState {
  explicit SharedState(const CoreOptions& core_options);

  TierMask Bit(uint32_t tier) const { return static_cast<TierMask>(1u << tier); }
  TierMask all_tiers() const { return static_cast<TierMask>((1u << options.tier_count()) - 1); }

  /// Forgets a copy; an owned one's file is unlinked later and its space given back then.
  void DropCopy(Slot slot, uint32_t tier);
  /// As DropCopy for every tier of `tiers` that holds the chunk.
  void DropCopies(Slot slot, TierMask tiers);

  CoreOptions options;
  ChunkIndex index;
  std::vector<UnlinkQueue> unlinks;
  std::deque<Event> events;
  Stats stats;
  WakeMask wake;
  TimePoint now = TimePoint::min();  ///< Of the call being served.
  OpId next_op = 1;
  uint32_t open_read_jobs = 0;
  TimePoint reads_idle_since = TimePoint::min();
  bool step_open = false;  ///< StepBegin was called, and no read or forward hint ended it yet.
};

}  // namespace kvstream::core
