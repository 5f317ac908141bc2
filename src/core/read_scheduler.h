#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/ops.h"
#include "core/shared_state.h"
#include "core/tier_health.h"
#include "route/claim_pacer.h"
#include "route/router.h"

namespace kvstream::core {

/// One item of a read job, as the engine submits it.
struct ReadRequest {
  ChunkKey key;
  Segments segments;
};

/// A staged chunk as a source of reads; the stager lends it.
struct StagedSource {
  uint32_t stage = 0;
  chunk::MetaRef meta;
  const std::vector<std::byte*>* blocks = nullptr;
  const ConstSegments* segments = nullptr;
  bool sealed = false;
};

/// Lends staged chunks to reads (implemented by the stager).
class StageLender {
 public:
  virtual ~StageLender() = default;
  /// The chunk stays until the same number of Give calls.
  virtual StagedSource Lend(uint32_t stage) = 0;
  virtual void GiveBack(uint32_t stage) = 0;
};

/// Reads: the jobs, the pool, what each tier has in flight, and when a chunk is done.
///
/// A chunk is done when all its blocks have landed, or when one can be had from nowhere; and not
/// before every operation that can touch the caller's memory has ended. Operations that land in
/// engine memory may outlive their chunk: they are orphans then, their answer is dropped and their
/// memory stays accounted to the tier until they end.
class ReadScheduler {
 public:
  ReadScheduler(SharedState& shared, StageLender& lender);

  void Submit(JobId job, NamespaceId ns, std::vector<ReadRequest> items, TimePoint deadline,
              TimePoint now);
  void Cancel(JobId job, MissReason reason);
  void CancelAll(MissReason reason);

  /// The next operation for the tier's read lane, if there is one now.
  bool NextOp(uint32_t tier, TimePoint now, ReadOp* op);
  /// A bounced read is verified: may it be copied to the caller? Then it must be, and at once.
  /// Null: no.
  const Segments* BeginLanding(OpId id);
  void Finish(OpId id, ReadResult result, TimePoint now);

  bool NextMemoryOp(MemoryOp* op);
  void FinishMemoryOp(OpId id, bool intact);

  void Tick(TimePoint now);
  /// When Tick has something to do next.
  TimePoint NextTick(TimePoint now) const;

  Status SetRouting(const RoutingOptions& routing);
  bool HasJob(JobId job) const { return jobs_.contains(job); }
  /// Nothing in flight, orphans included.
  bool quiet() const { return in_flight_.empty(); }
  uint64_t window_bytes(uint32_t tier) const { return tiers_[tier].pacer.window_bytes(); }
  bool up(uint32_t tier) const { return tiers_[tier].health.up(); }
  uint64_t times_opened(uint32_t tier) const { return tiers_[tier].health.times_opened(); }
  uint64_t quarantined_bytes(uint32_t tier) const;
  std::chrono::nanoseconds busy(uint32_t tier, TimePoint now) const;
  /// Chunks whose memory an operation in flight may touch, with the tier to blame.
  std::vector<UnreleasedBuffer> Unreleased() const;

  /// Footer operations of discovering lookups. `done` gets the version found or an empty reference.
  using FooterCallback = std::function<void(chunk::MetaRef found)>;
  void QueueFooter(uint32_t tier, NamespaceId ns, const ChunkKey& key, FooterCallback done);

 private:
  struct Chunk {
    Slot slot = kNoSlot;  // pinned while the chunk is open
    chunk::MetaRef meta;
    Segments segments;
    TierMask holders = 0;  // tiers it may still be read from
    TierMask delivered_by = 0;
    std::vector<bool> landed;
    uint32_t blocks_left = 0;
    uint32_t touching = 0;  // operations that can touch the caller's memory
    uint32_t restarts = 0;
    bool aligned = false;
    bool restart = false;  // start over with the index's version when touching is 0
    bool done = false;
    MissReason miss = MissReason::kNone;
  };
  struct Job {
    TimePoint deadline;
    std::vector<Chunk> chunks;
    uint32_t chunks_open = 0;
    uint32_t chunks_missed = 0;
    uint64_t bytes = 0;
  };
  struct InFlight {
    ReadOp::Kind kind = ReadOp::Kind::kBlocks;
    uint32_t tier = 0;
    route::Claim claim = {};
    TimePoint issued = {};
    bool bounce = false;
    bool landing = false;
    bool orphan = false;  // its chunk no longer waits for it
    bool twin = false;    // another operation reads the same blocks, or did
    bool hung = false;
    FooterCallback footer_done = {};
  };
  struct Tier {
    route::ClaimPacer pacer;
    TierHealth health;
    uint64_t bounce_blocks_free = 0;
    uint64_t bounce_blocks = 0;
    uint32_t in_flight = 0;
    TimePoint busy_since;
    std::chrono::nanoseconds busy{0};
  };
  struct Footer {
    uint32_t tier;
    NamespaceId ns;
    ChunkKey key;
    FooterCallback done;
  };
  struct MemoryCopy {
    JobId job;
    uint32_t item;
    StagedSource source;
    bool issued = false;
  };

  bool NextControlOp(uint32_t tier, TimePoint now, ReadOp* op);
  bool ClaimPiece(uint32_t tier, TimePoint now, ReadOp* op);
  bool ClaimLate(uint32_t tier, TimePoint now, ReadOp* op);
  static bool CanOvertake(const InFlight& operation);
  double SecondsUntilDone(OpId id, const InFlight& operation, TimePoint now) const;
  bool LeaveToOthers(uint32_t tier, uint64_t piece_bytes) const;
  bool NearEnd(uint32_t tier) const;
  bool MayOvertake() const;
  void WakeForEndgame();
  void Issue(uint32_t tier, const route::Claim& claim, bool bounce, TimePoint now, ReadOp* op);
  void Track(OpId id, InFlight operation, TimePoint now);
  void Untrack(const InFlight& operation, TimePoint now);

  void StartChunk(JobId id, Job& job, uint32_t item, std::vector<route::PoolChunk>* pool,
                  Slot slot);
  void FinishBlocks(const InFlight& operation, const ReadResult& result, TimePoint now);
  void Landed(const InFlight& operation, Chunk& chunk);
  void FailOver(const InFlight& operation, Chunk& chunk, const ReadResult& result);
  void HandleBadCopy(const InFlight& operation, const Chunk& chunk, const ReadResult& result);
  bool CoveredElsewhere(const route::Claim& claim, const Chunk& chunk) const;
  void GiveUpBlocks(const route::Claim& claim, Chunk& chunk);
  void Miss(JobId id, uint32_t item, MissReason reason);
  void OrphanBounced(JobId id, uint32_t item);
  void Settle(JobId id, uint32_t item);
  void RestartChunk(JobId id, uint32_t item);
  void FinishJobIfDone(JobId id);

  void OnTierOutcome(uint32_t tier, const ReadResult& result, TimePoint now);
  void SetAside(uint32_t tier);
  void AnswerFooters(TierMask tiers);
  bool EndgameRuns() const;
  void RefreshUsable();
  void DropStranded();
  TierMask usable() const;
  void WakeReaders(TierMask tiers) { shared_.wake.read |= tiers; }
  Chunk& ChunkOf(const route::Claim& claim) { return jobs_.at(claim.job).chunks[claim.item]; }

  SharedState& shared_;
  StageLender& lender_;
  RoutingOptions routing_;
  route::Router router_;
  std::vector<Tier> tiers_;
  std::map<JobId, Job> jobs_;
  std::unordered_map<OpId, InFlight> in_flight_;
  size_t hung_ = 0;  // of in_flight_
  std::deque<Footer> footers_;
  std::map<OpId, MemoryCopy> memory_copies_;
};

}  // namespace kvstream::core
