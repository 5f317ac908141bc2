#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "kvstream/engine.h"
#include "kvstream/options.h"

#include "route/assignment.h"

namespace kvstream::route {

/// A run of unread blocks of one chunk, given to one tier to read.
struct Claim {
  JobId job = 0;
  uint32_t item = 0;
  uint32_t first_block = 0;
  uint32_t block_count = 0;
  uint64_t bytes = 0;
};

/// The pool: all unread pieces of all open jobs, and the order in which tiers claim them.
///
/// A job's chunks stand in prefix order. Tier 0 claims from the front, the last tier from the back,
/// the tiers between from their share of the way, so that they meet (M4 of the paper, Sec 4.1).
/// Pieces that fewer tiers hold are claimed first; docs/architecture.md, "Exclusive pieces first",
/// shows what it costs not to. Which tiers may read a chunk at all is the assignment's to say; that
/// alone tells the comparison policies from meet-in-the-middle.
///
/// Pure: no clock, no threads. The engine and the simulator link this same object.
class Router {
 public:
  Router(const RoutingOptions& options, uint32_t tier_count);

  /// Adds a job, newer than all before it, with every block of its chunks unread. `chunks` may be
  /// empty.
  void AddJob(JobId job, std::span<const PoolChunk> chunks);
  /// Forgets the job and its unread pieces.
  void RemoveJob(JobId job);
  /// Takes the chunk's unread pieces out of the pool, if it has any there.
  void RemoveChunk(JobId job, uint32_t item);
  /// Puts blocks back that were claimed and not read; from now on `holders` may read the chunk.
  void Return(const Claim& claim, TierMask holders);

  /// The next blocks for the tier, at most `bytes_max` (at least one block) of one chunk. False if
  /// there is nothing for it.
  bool ClaimNext(uint32_t tier, uint64_t bytes_max, Claim* claim);

  /// The tiers that could claim what ClaimNext would give this one; 0 if there is nothing.
  TierMask NextReaders(uint32_t tier) const;

  /// Tiers that may claim; pieces no usable tier holds stay until TakeStranded.
  void SetUsableTiers(TierMask usable);
  /// Takes every piece that no usable tier holds out of the pool.
  std::vector<Claim> TakeStranded();

  /// Unread bytes the tier may claim.
  uint64_t claimable_bytes(uint32_t tier) const { return claimable_bytes_[tier]; }
  uint64_t unread_bytes() const { return unread_bytes_; }

 private:
  struct Range {
    uint32_t item;
    uint32_t first_block;
    uint32_t block_count;
  };
  /// The unread ranges that exactly the tiers of `mask` may read, in prefix order.
  struct HolderClass {
    TierMask mask = 0;
    std::deque<Range> ranges;
    uint64_t bytes = 0;
  };
  struct Job {
    std::vector<PoolChunk> chunks;  // indexed by position; `item` ascending
    std::vector<HolderClass> classes;
  };

  HolderClass& ClassOf(Job& job, TierMask mask);
  static const HolderClass* RarestFor(const Job& job, uint32_t tier);
  /// The class ClaimNext would take from, and its job; null if there is none.
  const HolderClass* Next(uint32_t tier, JobId* job) const;
  void Insert(Job& job, const Range& range);
  void Take(HolderClass& from, const PoolChunk& chunk, uint32_t first_block, uint32_t count);
  Claim TakeFrom(JobId id, Job& job, HolderClass& from, uint32_t tier, uint64_t bytes_max);
  void Rebuild(Job& job);
  void Account(TierMask mask, uint64_t bytes, bool add);
  static PoolChunk& ChunkOf(Job& job, uint32_t item);
  static uint64_t RangeBytes(const PoolChunk& chunk, uint32_t first_block, uint32_t count);

  RoutingOptions options_;
  uint32_t tier_count_;
  TierMask usable_;
  std::map<JobId, Job> jobs_;  // ascending id is ascending age
  std::array<uint64_t, kTiersMax> claimable_bytes_{};
  uint64_t unread_bytes_ = 0;
};

}  // namespace kvstream::route
