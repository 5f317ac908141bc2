#pragma once

#include <deque>
#include <unordered_set>
#include <vector>

#include "kvstream/engine.h"
#include "kvstream/options.h"
#include "kvstream/stats.h"

#include "chunk/key_hash.h"
#include "core/chunk_index.h"
#include "core/ops.h"

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

/// What a chunk's file is called by, on every tier.
struct ChunkName {
  NamespaceId ns = 0;
  ChunkKey key;
  friend bool operator==(const ChunkName&, const ChunkName&) = default;
};
struct ChunkNameHash {
  size_t operator()(const ChunkName& name) const {
    return chunk::ChunkKeyHash{}(name.key) ^ name.ns;
  }
};

/// Files to remove on one tier, oldest first. One that cannot be removed is tried again later: as
/// long as it is there it takes space, and a scan or a discovering lookup would find it.
class UnlinkQueue {
 public:
  struct Item {
    chunk::MetaRef meta;
    uint64_t reserved_bytes = 0;  ///< Given back when the file is gone.
    uint64_t temp_of = 0;  ///< If not 0: the temporary file of this copy, not the published one.
  };

  void Push(Item item);
  bool empty() const { return waiting_.empty() && failed_.empty(); }
  /// Whether Pop may be called.
  bool HasDue(TimePoint now) const {
    return !waiting_.empty() || (!failed_.empty() && failed_.front().retry_at <= now);
  }
  TimePoint retry_at() const { return failed_.empty() ? kNoDeadline : failed_.front().retry_at; }
  /// What the items that have not failed yet will give back.
  uint64_t reserved_bytes() const { return reserved_bytes_; }
  Item Pop();
  /// A popped item's file is gone.
  void Done(const Item& item);
  /// It could not be removed. `retry_at` is never earlier than that of a call before.
  void Failed(Item item, TimePoint retry_at);
  /// Whether a removal of this chunk's file waits or runs: until then no new version may be
  /// published, since both have one name.
  bool Concerns(NamespaceId ns, const ChunkKey& key) const;
  /// Whether that removal has failed and waits to be tried again.
  bool HasFailed(NamespaceId ns, const ChunkKey& key) const;

 private:
  struct Retry {
    Item item;
    TimePoint retry_at;
  };

  std::deque<Item> waiting_;
  std::deque<Retry> failed_;     // by time
  uint64_t reserved_bytes_ = 0;  // of waiting_
  std::unordered_multiset<ChunkName, ChunkNameHash> names_;
};

/// What the parts of the core have in common.
struct SharedState {
  explicit SharedState(const CoreOptions& core_options);

  TierMask Bit(uint32_t tier) const { return static_cast<TierMask>(1u << tier); }
  TierMask all_tiers() const { return static_cast<TierMask>((1u << options.tier_count()) - 1); }

  /// Has a file removed as soon as writes may go.
  void QueueUnlink(uint32_t tier, UnlinkQueue::Item item);
  /// Forgets a copy; an owned one's file is unlinked later and its space given back then.
  void DropCopy(Slot slot, uint32_t tier);
  /// Forgets a copy whose file is gone: what has its name now, if anything, is another one.
  void ForgetCopy(Slot slot, uint32_t tier);
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
