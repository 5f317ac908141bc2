#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/ops.h"
#include "core/read_scheduler.h"
#include "core/shared_state.h"
#include "core/tier_health.h"

namespace kvstream::core {

/// One item of a write job, as the engine submits it.
struct WriteRequest {
  JobId job = 0;
  uint32_t item = 0;
  NamespaceId ns = 0;
  ChunkKey key;
  uint64_t bytes = 0;
  bool borrowed = false;
  bool replace = false;
};

/// What Admit decided about an item of a write.
struct Admission {
  WriteAccept accept = WriteAccept::kDropped;
  uint32_t stage = 0;  ///< kStaged: fill the payload, then Commit.
};

/// Writes: staged chunks, one queue of copies per tier, and the gate that keeps them back while
/// reads are open (M2). Every tier gets a copy of every chunk (M3) at its own pace; a tier that
/// lags loses copies and holds up nobody.
///
/// Life of a staged chunk: Admit (room taken, invisible) → Commit (readable) → Seal (checksums
/// known; at Commit already unless the memory is borrowed) → copies written → settled (room given
/// back).
class Stager final : public StageLender {
 public:
  explicit Stager(SharedState& shared);

  /// Begins a write job of `items` chunks. Every item ends in exactly one kChunkSettled.
  void BeginJob(JobId job, uint32_t items);
  Admission Admit(const WriteRequest& request);
  /// Makes an admitted chunk readable. Its payload is in `blocks` (engine memory, sealed `meta`) or
  /// in `segments` (borrowed, sealed later). If the key has become present meanwhile, it counts as
  /// that.
  void Commit(uint32_t stage, chunk::MetaRef meta, std::vector<std::byte*> blocks,
              ConstSegments segments, bool replace);
  /// Ends an item without a staged chunk.
  void SettleNow(JobId job, uint32_t item, bool ok, TierMask tiers, uint64_t bytes);

  bool NextOp(uint32_t tier, TimePoint now, WriteOp* op);
  void Finish(OpId id, WriteResult result, TimePoint now);
  bool NextMemoryOp(MemoryOp* op);
  void FinishSeal(OpId id);

  StagedSource Lend(uint32_t stage) override;
  void GiveBack(uint32_t stage) override;

  /// The chunk was removed or replaced: unreadable from now, its copies are abandoned.
  void Discard(uint32_t stage, DropReason reason);
  /// The chunk was removed from these tiers: their copies are abandoned, the others go on.
  void DiscardOn(uint32_t stage, TierMask tiers);

  void ReadsBegan();
  void ForwardBegan();
  void StepBegin();
  /// Lets everything staged so far go; FlushDone(the result) once it is settled.
  uint64_t Flush();
  bool FlushDone(uint64_t flush) const { return orders_.empty() || OldestOrder() > flush; }
  /// Drops every copy that is not being published, for closing.
  void DropAll(DropReason reason);
  /// Drops the copies of tiers that are not ready, which nothing but their scan could let go.
  void DropUnready(DropReason reason);

  /// The tier's scan is done, or none was needed: writes may begin.
  void SetReady(uint32_t tier);
  bool ready(uint32_t tier) const { return tiers_[tier].ready; }
  void Tick(TimePoint now);
  TimePoint NextTick(TimePoint now) const;

  bool HasJob(JobId job) const { return jobs_.contains(job); }
  bool empty() const { return staged_.empty(); }
  bool quiet() const { return in_flight_.empty(); }
  bool up(uint32_t tier) const { return tiers_[tier].health.up(); }
  uint64_t times_opened(uint32_t tier) const { return tiers_[tier].health.times_opened(); }
  std::chrono::nanoseconds busy(uint32_t tier, TimePoint now) const;
  std::vector<UnreleasedBuffer> Unreleased() const;
  /// Engine blocks that nothing uses any more, for their pool.
  std::vector<std::byte*> TakeFreedBlocks() { return std::exchange(freed_blocks_, {}); }
  std::vector<std::byte*> SurrenderBlocks();

 private:
  enum class CopyState : uint8_t { kQueued, kWriting, kClosing, kDone, kDropped };
  struct Copy {
    CopyState state = CopyState::kQueued;
    uint32_t next_block = 0;
    uint32_t in_flight = 0;
    bool failed = false;    // abandon it once nothing is in flight
    bool unwanted = false;  // removed while it was being published
    DropReason reason = DropReason::kIoError;
  };
  struct Staged {
    uint64_t order = 0;  // of Commit
    JobId job = 0;
    uint32_t item = 0;
    Slot slot = kNoSlot;  // pinned from Commit until settled
    chunk::MetaRef meta;
    uint64_t bytes = 0;
    bool borrowed = false;
    bool committed = false;
    bool sealed = false;
    bool sealing = false;
    bool discarded = false;
    DropReason discard_reason = DropReason::kReplaced;
    uint32_t readers = 0;
    TimePoint since;
    std::vector<std::byte*> blocks;
    ConstSegments segments;
    std::vector<Copy> copies;
  };
  struct Job {
    uint32_t open = 0;
    uint32_t failed = 0;
    uint64_t bytes = 0;
    std::vector<chunk::MetaRef> written;  // by item, for the LRU order of the batch
  };
  struct InFlight {
    WriteOp::Kind kind = WriteOp::Kind::kBlocks;
    uint32_t tier = 0;
    uint32_t stage = 0;
    uint64_t bytes = 0;
    TimePoint issued = {};
    bool hung = false;
    UnlinkQueue::Item unlink = {};
  };
  struct Tier {
    explicit Tier(const TierHealth::Options& options) : health(options) {}
    TierHealth health;
    bool ready = false;
    std::deque<uint32_t> queue;    // stages whose copy has not begun, oldest first
    std::vector<uint32_t> active;  // stages whose copy is being written
    uint64_t in_flight_bytes = 0;
    uint64_t unlinking_bytes = 0;  // will come back when unlinks in flight or queued are done
    uint32_t in_flight = 0;
    TimePoint busy_since;
    std::chrono::nanoseconds busy{0};
  };

  bool NextUnlink(uint32_t tier, bool urgent, TimePoint now, WriteOp* op);
  bool NextProbe(uint32_t tier, TimePoint now, WriteOp* op);
  bool CloseCopy(uint32_t tier, TimePoint now, WriteOp* op);
  bool NextBlocks(uint32_t tier, FlushReason reason, TimePoint now, WriteOp* op);
  bool BeginCopy(uint32_t tier, bool* want_unlink);
  bool NameBusy(uint32_t tier, const Staged& staged) const;
  bool MakeRoom(uint32_t tier, uint64_t bytes, bool* wait);
  uint64_t EvictFor(uint32_t tier, uint64_t bytes);
  std::optional<FlushReason> Gate(uint32_t tier, TimePoint now) const;
  const Staged* OldestOn(uint32_t tier) const;
  TimePoint NextAge(const Tier& tier, TimePoint now) const;

  void Track(OpId id, InFlight operation, TimePoint now);
  void FinishBlocks(const InFlight& operation, WriteResult result, TimePoint now);
  void FinishClose(const InFlight& operation, WriteResult result, TimePoint now);
  void FinishUnlink(const InFlight& operation, WriteResult result, TimePoint now);
  void OnTierOutcome(uint32_t tier, WriteResult result, TimePoint now);
  void DropCopiesOf(uint32_t tier, DropReason reason);
  void DropCopy(uint32_t stage, uint32_t tier, DropReason reason);
  void SettleIfDone(uint32_t stage);
  void FinishJobIfDone(JobId job);
  uint64_t OldestOrder() const { return orders_.begin()->first; }
  static TierMask TiersDone(const Staged& staged);

  SharedState& shared_;
  std::vector<Tier> tiers_;
  std::unordered_map<uint32_t, Staged> staged_;
  std::map<uint64_t, uint32_t> orders_;  // order → stage
  std::unordered_map<JobId, Job> jobs_;
  std::unordered_map<OpId, InFlight> in_flight_;
  size_t hung_ = 0;  // of in_flight_
  std::unordered_map<OpId, uint32_t> seals_;
  std::deque<uint32_t> to_seal_;
  std::vector<std::byte*> freed_blocks_;
  uint64_t next_order_ = 1;
  uint32_t next_stage_ = 1;
  uint64_t flush_order_ = 0;  // explicit flush up to here
  bool forward_open_ = false;
  bool refused_ = false;  // a write found the stage full since it last had room
};

}  // namespace kvstream::core
