#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/host_model.h"
#include "sim/sim_disk.h"
#include "sim/sim_engine.h"
#include "sim/sim_plan.h"

namespace kvstream::test {

/// What a simulation spoils on purpose, so that tests can see that the oracle notices.
enum class Sabotage : uint8_t {
  kNone,
  kUnverifiedFlip,  ///< Stored bits flip and verification is off.
  kLateWrite,       ///< A byte of memory changes after its chunk's event.
  kGuard,           ///< A byte beside a chunk's memory changes.
  kLostEvent,       ///< One event is not delivered.
  kRepeatedEvent,   ///< One event is delivered twice.
  kExtraFile,       ///< A tier gets a file of this owner that the index does not know.
};

/// How often what happened, so that tests can see that a set of seeds covers it.
struct SimCoverage {
  uint64_t turns = 0;
  uint64_t chunks_delivered = 0;
  std::array<uint64_t, 7> misses{};  ///< By MissReason.
  std::array<uint64_t, kDropReasonCount> dropped_copies{};
  std::array<uint64_t, kFlushReasonCount> flushed_bytes{};
  uint64_t bytes_read_twice = 0;
  uint64_t staged_hit_bytes = 0;
  uint64_t evicted_chunks = 0;
  uint64_t corrupt_blocks = 0;
  uint64_t stale_copies = 0;
  uint64_t breaker_opened = 0;
  uint64_t crashes = 0;
  uint64_t orderly_restarts = 0;
  uint64_t temps_left_by_crashes = 0;
  uint64_t faults = 0;
  uint64_t discovered = 0;  ///< Chunks that only a discovering lookup knew.

  void Add(const SimCoverage& other);
};

/// One simulated life of an engine and its host: everything from one seed, in virtual time, on one
/// thread. Everything the engine says and does is checked against the host's model and against the
/// files (see HostModel and the Check functions).
class EngineSim {
 public:
  explicit EngineSim(uint64_t seed, Sabotage sabotage = Sabotage::kNone);
  ~EngineSim();

  /// Empty if all went well, else what did not. Once.
  std::string Run();

  /// Of everything that happened; equal for equal seeds.
  uint64_t trace_hash() const { return trace_hash_; }
  /// Seed, plan and the last events, for people.
  std::string Log() const;
  const SimCoverage& coverage() const { return coverage_; }

 private:
  struct ReadChunk {
    size_t key = 0;
    size_t floor = 0;
    uint64_t changed = 0;
    std::unique_ptr<ReadMemory> memory;
    MissReason expected = MissReason::kNone;  // by the index at submit
    bool done = false;
  };
  struct ReadJob {
    std::vector<ReadChunk> chunks;
    TimePoint deadline;
    bool cancelled = false;
    size_t open = 0;
    uint64_t bytes = 0;
  };
  struct WriteChunk {
    size_t key = 0;
    size_t version = 0;
    core::Admission admission;
    chunk::MetaRef meta;
    std::vector<std::byte> borrowed;
    bool done = false;
  };
  struct WriteJob {
    std::vector<WriteChunk> chunks;
    bool borrow = false;
    bool replace = false;
    bool committed = false;
    size_t open = 0;
  };
  struct Lookup {
    std::vector<size_t> keys;
    std::vector<bool> hit;  // before
    bool lease = false;
  };
  struct Note {
    TimePoint time;
    const char* what;
    std::array<uint64_t, 4> values;
  };
  using CopySet = std::set<std::pair<std::string, uint64_t>>;  // path, write id

  // The loop.
  void OpenEngine();
  void Turn();
  bool HostIsDue() const;
  void RunLane(size_t lane);
  void AfterTurn();
  void Advance();
  void Drain();
  bool AtRest() const;
  void Restart();
  void CloseEngine(bool snapshots);
  void FinalScan();
  void ReadEverything();

  // What the host does.
  void HostAction();
  void SubmitRead();
  void SubmitReadOf(const std::vector<size_t>& keys, TimePoint deadline, LeaseId lease);
  void BeginWrite();
  void CommitWrite();
  void CommitItem(JobId id, WriteJob& job, uint32_t item);
  std::vector<std::byte*> FillBlocks(WriteChunk& chunk);
  void RemoveSome();
  void LookUp();
  void LookUpLater();
  void Cancel();
  void ChangeRouting();
  void Hint();
  void AddFault();
  void EndFaults();
  void WriteAsOther();
  std::vector<size_t> SomeKeys(size_t count_max);
  std::vector<ChunkKey> ToKeys(const std::vector<size_t>& indices) const;

  // What is checked.
  void TakeEvents();
  void OnEvent(const Event& event);
  void OnChunkRead(const Event& event);
  void OnReadDone(const Event& event);
  void OnMiss(const Event& event, const ReadJob& job, const ReadChunk& chunk);
  void OnChunkSettled(const Event& event);
  void OnWriteDone(const Event& event);
  void OnLookupDone(const Event& event);
  void CheckCapacity();
  void CheckStats();
  void CheckQuiet();
  void CheckDeadlines();
  void CheckWakeUps();
  void CheckAtRest();
  void CheckFiles(uint32_t tier);
  void CheckRetired();
  CopySet CopiesOf(uint32_t tier) const;
  void CountCoverage();

  void Sabotaged();
  bool ok() const { return failure_.empty(); }
  void Fail(const std::string& what);
  void Trace(const char* what, uint64_t a = 0, uint64_t b = 0, uint64_t c = 0, uint64_t d = 0);
  uint32_t tier_count() const { return plan_.core.tier_count(); }

  const uint64_t seed_;
  const Sabotage sabotage_;
  const SimPlan plan_;
  base::Prng random_;
  SimClock clock_;
  HostModel model_;
  std::vector<std::unique_ptr<SimDisk>> disks_;
  std::unique_ptr<SimEngine> engine_;
  uint32_t engines_opened_ = 0;

  std::map<JobId, ReadJob> reads_;
  std::map<JobId, WriteJob> writes_;
  std::map<JobId, Lookup> lookups_;
  std::deque<JobId> uncommitted_;
  std::vector<LeaseId> leases_;
  std::vector<ReadMemory> retired_;
  std::vector<std::vector<std::byte>> mutated_;

  std::vector<bool> scan_pending_;
  std::vector<TimePoint> stalled_until_;  // by lane
  std::vector<uint64_t> control_bytes_;   // by tier, at open
  TimePoint next_action_;
  uint32_t actions_done_ = 0;
  bool draining_ = false;
  bool faults_active_ = false;
  bool faults_seen_ = false;  // since this engine was opened
  bool sabotage_done_ = false;

  std::string failure_;
  uint64_t trace_hash_ = 0xcbf29ce484222325u;
  std::deque<Note> notes_;
  SimCoverage coverage_;
};

}  // namespace kvstream::test
