#pragma once

#include <deque>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/prng.h"
#include "core/ops.h"
#include "core/read_scheduler.h"
#include "core/shared_state.h"
#include "core/stager.h"

namespace kvstream::core {

/// A chunk that a scan or a snapshot found on a tier.
struct FoundChunk {
  chunk::MetaRef meta;  ///< With its namespace set.
  bool owned = false;
};

/// The engine's state machine: no I/O, no clock, no threads, no locks. Calls come in with the time,
/// operations go out to lanes when these ask, answers come back, events pile up until taken.
///
/// Not thread-safe: the engine calls it under its one mutex, the simulator from one thread.
class Core {
 public:
  explicit Core(const CoreOptions& options);

  // ---- The host's calls
  void Lookup(NamespaceId ns, std::span<const ChunkKey> keys,
              std::span<LookupResult> results) const;
  /// Protects those of the chunks that are readable; 0 if none is.
  LeaseId Lease(NamespaceId ns, std::span<const ChunkKey> keys, TimePoint now);
  JobId LookupAsync(NamespaceId ns, std::vector<ChunkKey> keys, bool discover, bool lease,
                    TimePoint now);
  /// Empty if the job is unknown or not done.
  std::optional<Engine::LookupOutcome> TakeLookup(JobId job);
  void Release(LeaseId lease);
  void Touch(NamespaceId ns, std::span<const ChunkKey> keys);
  void Remove(NamespaceId ns, std::span<const ChunkKey> keys, TierMask tiers, TimePoint now);

  JobId Read(NamespaceId ns, std::vector<ReadRequest> items, TimePoint deadline, LeaseId lease,
             TimePoint now);
  void Cancel(JobId job, TimePoint now);

  JobId BeginWrite(uint32_t items, TimePoint now);
  Admission Admit(const WriteRequest& request, TimePoint now);
  /// Items that were not staged end here; see Stager::SettleNow.
  void SettleUnstaged(JobId job, uint32_t item, WriteAccept accept, NamespaceId ns,
                      const ChunkKey& key, TimePoint now);
  /// A meta for an admitted chunk, with a fresh write id.
  chunk::MetaRef NewMeta(NamespaceId ns, const ChunkKey& key, uint64_t bytes, uint64_t wall_ns);
  void Commit(uint32_t stage, chunk::MetaRef meta, std::vector<std::byte*> blocks,
              ConstSegments segments, bool replace, TimePoint now);

  void StepBegin() { stager_.StepBegin(); }
  void ForwardBegan(TimePoint now);
  uint64_t Flush(TimePoint now);
  bool FlushDone(uint64_t flush) const { return stager_.FlushDone(flush); }
  Status SetRouting(const RoutingOptions& routing) { return reads_.SetRouting(routing); }

  // ---- The lanes' calls
  bool NextRead(uint32_t tier, TimePoint now, ReadOp* op);
  const Segments* BeginLanding(OpId id) { return reads_.BeginLanding(id); }
  void FinishRead(OpId id, ReadResult result, TimePoint now);
  bool NextWrite(uint32_t tier, TimePoint now, WriteOp* op);
  void FinishWrite(OpId id, WriteResult result, TimePoint now);
  bool NextMemoryOp(MemoryOp* op);
  void FinishMemoryOp(const MemoryOp& op, bool intact, TimePoint now);

  // ---- Recovery
  /// Adds what a snapshot or a scan knows of a tier. Of two versions of a key the newer wins.
  void AddFound(uint32_t tier, std::span<const FoundChunk> chunks, TimePoint now);
  void ScanBegins(uint32_t tier) { shared_.index.ClearSeen(tier); }
  /// Ends the scan: what the snapshot promised and the scan did not meet is forgotten.
  void ScanEnds(uint32_t tier, bool complete, TimePoint now);
  void SetReady(uint32_t tier, TimePoint now);

  // ---- Time, events, closing
  void Tick(TimePoint now);
  TimePoint NextTick(TimePoint now) const;
  std::vector<Event> TakeEvents();
  bool has_events() const { return !shared_.events.empty(); }
  /// The job's last event, if it waits to be taken.
  std::optional<Event> LastEvent(JobId job) const;
  /// Whether the job's last event has yet to come.
  bool HasJob(JobId job) const;
  WakeMask TakeWake() { return std::exchange(shared_.wake, WakeMask{}); }
  std::vector<std::byte*> TakeFreedBlocks() { return stager_.TakeFreedBlocks(); }
  /// Lets everything staged go that can go before the end.
  void BeginClose(TimePoint now);
  /// Ends every job as far as the kernel allows. From now on reads miss, writes are dropped and
  /// nothing is removed.
  void Close(TimePoint now);
  bool closed() const { return closed_; }
  /// Every engine block that staged chunks still hold; afterwards the core may only be destroyed.
  std::vector<std::byte*> SurrenderBlocks() { return stager_.SurrenderBlocks(); }
  /// No open job, nothing staged.
  bool idle() const { return shared_.open_read_jobs == 0 && stager_.empty(); }
  /// Idle, nothing in flight and nothing to unlink: the tiers hold exactly what the index says.
  bool quiet() const;
  /// Idle, nothing in flight, and no unlink that could go now: waiting longer would achieve
  /// nothing.
  bool at_rest() const;
  std::vector<UnreleasedBuffer> Unreleased() const;

  const ChunkIndex& index() const { return shared_.index; }
  Stats GetStats(TimePoint now) const;

 private:
  struct Pinned {
    std::vector<Slot> slots;
    TimePoint expires;
  };
  struct LookupJob {
    NamespaceId ns = 0;
    std::vector<ChunkKey> keys;
    bool lease = false;
    uint32_t waiting = 0;
    bool done = false;
    Engine::LookupOutcome outcome;
  };

  void FooterFound(JobId job, uint32_t tier, chunk::MetaRef found);
  void FinishLookup(JobId job);
  void AddOne(uint32_t tier, const FoundChunk& found);
  void DropOlder(Slot slot, uint32_t tier);
  void UnlinkFound(uint32_t tier, const chunk::MetaRef& meta);
  void Supersede(const ChunkName& name, TierMask tiers);

  SharedState shared_;
  base::Prng random_;
  Stager stager_;
  ReadScheduler reads_;
  bool closed_ = false;
  JobId next_job_ = 1;
  LeaseId next_lease_ = 1;
  std::map<LeaseId, Pinned> leases_;
  std::unordered_map<JobId, LookupJob> lookups_;
  /// By tier that awaits its scan: the names under which what is found there is not wanted.
  std::vector<std::unordered_set<ChunkName, ChunkNameHash>> superseded_;
};

}  // namespace kvstream::core
