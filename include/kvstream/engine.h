#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kvstream/chunk_key.h"
#include "kvstream/export.h"
#include "kvstream/options.h"
#include "kvstream/stats.h"
#include "kvstream/status.h"

namespace kvstream {

/// Identifies a namespace opened on one engine.
using NamespaceId = uint16_t;
/// Identifies a submitted batch; never 0, never reused.
using JobId = uint64_t;
/// Identifies a lease; 0 is none.
using LeaseId = uint64_t;

/// Points in time are on std::chrono::steady_clock. `kNoDeadline` waits for ever.
using TimePoint = std::chrono::steady_clock::time_point;
inline constexpr TimePoint kNoDeadline = TimePoint::max();

/// One chunk to read. The segments, in order, receive the payload; their sizes add up to its
/// length. Any number, any alignment. The array of segments may go after the call; the memory it
/// names stays the engine's until the chunk's event.
struct ReadItem {
  ChunkKey key;
  std::span<const std::span<std::byte>> segments;
};

/// One chunk to write, gathered from its segments. At least 1 byte in all, at most kChunkBytesMax.
struct WriteItem {
  ChunkKey key;
  std::span<const std::span<const std::byte>> segments;
};

/// Largest payload of one chunk: what one footer has checksums for.
inline constexpr uint64_t kChunkBytesMax = 896 * kMiB;

struct LookupResult {
  uint64_t bytes = 0;   ///< Payload length; 0 if the chunk is unknown.
  TierMask tiers = 0;   ///< Tiers that hold a copy.
  bool staged = false;  ///< Readable from the stage.

  bool hit() const { return tiers != 0 || staged; }
};

/// Why a chunk was not delivered.
enum class MissReason : uint8_t {
  kNone,      ///< Delivered.
  kUnknown,   ///< Not in the index.
  kLength,    ///< The segments do not add up to the stored length.
  kLost,      ///< Every copy failed, was corrupt, or is on a tier that is set aside.
  kDeadline,  ///< The deadline passed first.
  kCancelled,
  kShutdown,
};

struct Event {
  enum class Kind : uint8_t {
    kChunkRead,     ///< Item `item` of a read job is done: `ok`, or `miss` says why not.
    kReadDone,      ///< Last event of a read job. `ok` if every chunk was delivered.
    kChunkSettled,  ///< Item `item` of a write job: on the tiers of `tiers` (`ok`), or on none.
    kWriteDone,     ///< Last event of a write job. `ok` if every item is on at least one tier.
    kLookupDone,    ///< A LookupAsync job; fetch its results with TakeLookup.
  };
  Kind kind;
  bool ok = false;
  MissReason miss = MissReason::kNone;
  TierMask tiers = 0;  ///< Tiers that delivered (read) or hold (write) the chunk.
  uint32_t item = 0;   ///< Index into the submitted span.
  JobId job = 0;
  uint64_t bytes = 0;  ///< Payload bytes of the chunk, or of the job.
};

struct ReadOptions {
  TimePoint deadline = kNoDeadline;
  /// A lease that covers the keys. The call releases it: an open job protects its chunks itself. 0:
  /// none.
  LeaseId lease = 0;
};

enum class WriteMode : uint8_t {
  kCopy,    ///< The memory is the caller's again when Write returns.
  kBorrow,  ///< No copy: the memory stays the engine's until the chunk's kChunkSettled event.
};

struct WriteJobOptions {
  WriteMode mode = WriteMode::kCopy;
  /// With StageFull::kWait: how long the call may block for room in the stage.
  TimePoint deadline = TimePoint::min();
  /// Present chunks get the new bytes, and the old ones are unreadable when Write returns; without
  /// it a present chunk of the same length is left alone.
  bool replace = false;
};

/// What Write did with an item before it returned.
enum class WriteAccept : uint8_t {
  kStaged,          ///< Readable from now; kChunkSettled follows.
  kAlreadyPresent,  ///< Present with the same length: nothing written; kChunkSettled follows at
                    ///< once.
  kDropped,         ///< The stage is full; counted; kChunkSettled with !ok follows at once.
};

struct WriteTicket {
  JobId job = 0;
  std::vector<WriteAccept> accepted;  ///< One per item.
};

/// Memory of the caller that the kernel may still write to after Close.
struct UnreleasedBuffer {
  JobId job = 0;
  uint32_t item = 0;
  std::string tier;
};

/// The storage engine. All methods may be called from any thread at any time between Open and the
/// return of Close; those marked "never blocks" make no system call except, when they hand work to
/// a sleeping lane, one write to an eventfd.
///
/// A completion event means that no I/O of the engine can touch the chunk's memory any more.
class KVS_EXPORT Engine {
 public:
  /// Opens every tier, starts the lanes, loads the index. Blocks for tier probes and the snapshot;
  /// a tier without a clean snapshot is scanned in the background, serving meanwhile.
  /// kInvalidArgument (options, nested directories), kBusy (owner name in use), kNotFound
  /// (directory or an expected tier marker missing: "not mounted?"), kUnsupported (newer format),
  /// kIo.
  static Result<std::unique_ptr<Engine>> Open(const EngineOptions& options);

  /// Closes within a few seconds if Close was not called.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Stops accepting work, flushes the stage, ends open jobs, writes snapshots; blocks until
  /// `deadline` at most. Returns the caller's buffers that are still in the kernel's hands: these
  /// must not be freed or reused. Idempotent.
  std::vector<UnreleasedBuffer> Close(TimePoint deadline);

  /// Creates or opens the namespace of `identity` on every tier. Blocks on the tiers' write lanes
  /// up to `deadline`. The same identity gives the same id. kInvalidArgument, kIo, kTimeout.
  Result<NamespaceId> OpenNamespace(const Identity& identity, TimePoint deadline = kNoDeadline);

  /// Fills results[i] for keys[i]; the spans have equal length. With `lease` the hits are protected
  /// from eviction until Release, a read that names the lease, or EngineOptions::lease_ttl; returns
  /// its id (0 without hits or without `lease`). Never blocks; without `lease` it makes no system
  /// call.
  LeaseId Lookup(NamespaceId ns, std::span<const ChunkKey> keys, std::span<LookupResult> results,
                 bool lease = false);

  /// The same as a job. With `discover`, keys the index does not know are looked for on shared
  /// tiers. Never blocks. Fetch the results after kLookupDone; they are kept until fetched.
  Result<JobId> LookupAsync(NamespaceId ns, std::span<const ChunkKey> keys, bool discover,
                            bool lease);
  struct LookupOutcome {
    std::vector<LookupResult> results;
    LeaseId lease = 0;
  };
  Result<LookupOutcome> TakeLookup(JobId job);

  void Release(LeaseId lease);                                 ///< Never blocks.
  void Touch(NamespaceId ns, std::span<const ChunkKey> keys);  ///< LRU only. Never blocks.
  /// Forgets the chunks on the tiers of `tiers`; files go in the write window. Never blocks.
  void Remove(NamespaceId ns, std::span<const ChunkKey> keys, TierMask tiers = 0xff);

  /// Submits one pool of reads. Items are in prefix order. A key that cannot be read is a miss,
  /// reported by its event, never an error. kInvalidArgument for an unknown namespace or empty
  /// segments; then nothing was submitted. Never blocks.
  Result<JobId> Read(NamespaceId ns, std::span<const ReadItem> items,
                     const ReadOptions& options = {});

  /// Stages the items, in prefix order. Blocks only for the copy (WriteMode::kCopy) and, with
  /// StageFull::kWait, for room. A present key of another length is replaced even without
  /// `replace`. kInvalidArgument: unknown namespace, empty or oversized item. kShutdown.
  Result<WriteTicket> Write(NamespaceId ns, std::span<const WriteItem> items,
                            const WriteJobOptions& options = {});

  /// Unclaimed pieces go, what is in flight completes. Unknown jobs are ignored. Never blocks.
  void Cancel(JobId job);

  void StepBegin();     ///< Hint: reads of a step follow; holds staged writes back. Never blocks.
  void ForwardBegan();  ///< Hint: the step's reads are done; lets staged writes go. Never blocks.
  /// Lets all staged writes go now and blocks until they are settled or dropped. kTimeout.
  Status Flush(TimePoint deadline);

  /// Readable when events wait. Poll resets it. The engine owns the descriptor.
  int event_fd() const;
  /// Takes all waiting events, oldest first. Never blocks, never throws.
  std::vector<Event> Poll();
  /// Blocks until the job has ended and returns its last event; its events stay for Poll.
  /// kTimeout, kNotFound (never existed, or ended and its last event was already polled).
  Result<Event> Wait(JobId job, TimePoint deadline = kNoDeadline);

  /// For comparisons: routing of reads submitted from now on. kBusy while a read job is open.
  Status SetRouting(const RoutingOptions& routing);

  Stats GetStats() const;  ///< Never blocks.

 private:
  class Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvstream
