#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kvstream/options.h"
#include "kvstream/status.h"

#include "sim/device.h"
#include "sim/event_queue.h"
#include "sim/step_storage.h"
#include "sim/storage_chunk.h"
#include "sim/write_policy.h"

namespace kvstream::sim {

struct StorageOptions {
  RoutingOptions routing{};
  /// Request by request (the paper's O1): the next request's chunks are read when the last one's
  /// are on the GPU. Else all of a step are one pool, and copies to the GPU overlap reads (M1).
  bool serial = false;
  WriteOptions write{};
  /// b_D2H of one rank, bytes per second.
  double link_bytes_per_second = 1e18;
  /// Chunks are read in pieces of at least 1 MiB (the engine's block), and of at least the step's
  /// bytes over this, rounded up to whole MiB: a step then takes about this many events at most.
  /// The last piece of each tier is what a coarser grain costs: up to 1 / this × Σb / b_k of the
  /// bound.
  uint32_t pieces_max = 2000;
};

/// The chunks of one step that memory does not have (D_i), in the order of the batch.
struct StepReads {
  /// Each once, prefix order within a request. Each must have a holder or be staged.
  std::span<const StorageChunk> chunks;
  /// Where each request's chunks end in `chunks`, ascending; empty: one request. Only `serial`
  /// needs it.
  std::span<const uint32_t> request_ends;
  /// Bytes of the batch that come from host memory: they share the link to the GPU.
  uint64_t host_bytes = 0;
};

/// Who runs the steps of a node. Never called from inside a call to NodeStorage, but from an event
/// of kind kTransfer.
class StorageListener {
 public:
  virtual ~StorageListener() = default;
  /// The last chunk of the step is on the GPU: the forward pass may begin.
  virtual void OnStepRead(const StepStorage& step) = 0;
  /// Everything handed to Write is staged or dropped: the next step may begin.
  virtual void OnWriteAccepted() = 0;
};

/// The devices of all nodes: one per node of a local tier, one for all of a shared tier.
class DeviceSet {
 public:
  struct Port {
    Device* device = nullptr;
    uint32_t node = 0;  ///< Of the device's lanes.
  };

  /// 1 to kTiersMax valid tiers. Outlives every NodeStorage on it; `queue` and `tiers` outlive it.
  DeviceSet(std::span<const TierModel> tiers, uint32_t nodes, uint32_t ranks, uint64_t seed,
            EventQueue& queue);

  std::span<const TierModel> tiers() const { return tiers_; }
  uint32_t ranks() const { return ranks_; }
  Port port(uint32_t tier, uint32_t node) const;

 private:
  std::span<const TierModel> tiers_;
  uint32_t ranks_;
  std::vector<std::vector<std::unique_ptr<Device>>> devices_;  // tier, node (one if shared)
};

/// Storage of one node on virtual time, seen by one rank (all ranks run in lockstep): tiers with
/// their own LRU, M1 to M4 with the engine's router, pacer and LRU, writes through a stage.
///
/// One step, as Algorithm 1 has it:
///   Write(new chunks of the step before) → OnWriteAccepted       nothing goes to the tiers yet
///   (M2) SubmitStep(D_i)                      → OnStepRead            staged writes go out now
///   ForwardBegan()                                               they go out without reads too
///
/// Not thread-safe; nodes on one EventQueue belong to one thread.
class NodeStorage {
 public:
  NodeStorage(const DeviceSet& devices, uint32_t node, const StorageOptions& options,
              EventQueue& queue, StorageListener& listener);
  ~NodeStorage();

  /// Tiers with a complete copy.
  TierMask Holders(uint32_t id) const;
  /// Readable from the stage.
  bool Staged(uint32_t id) const;
  bool Stored(uint32_t id) const { return Holders(id) != 0 || Staged(id); }

  /// Makes chunks the most recently used ones of every tier, the last id first, so that the head of
  /// a prefix is the last to go. SubmitStep does it for what it reads.
  void Touch(std::span<const uint32_t> ids_in_prefix_order);

  /// Begins the retrieval of a step; the one before must have been answered. Empty is allowed.
  void SubmitStep(const StepReads& reads);
  /// The forward pass runs: staged writes may go out.
  void ForwardBegan();
  /// Hands new chunks over; the call before must have been answered. What every target tier has
  /// already is not written again.
  void Write(std::span<const StorageChunk> chunks);

  /// Puts a copy on `tiers` without any time passing, evicting as a write does: the state that a
  /// run starts with. False if a tier has no room.
  bool Preload(const StorageChunk& chunk, TierMask tiers);

  bool idle() const;  ///< Nothing is read, staged or written.
  const StorageTotals& totals() const;
  /// Conservation (A9): bytes read = demand from tiers + read twice, claims end once, bytes written
  /// = staged - dropped, per tier. Exact at any time, with what is under way counted in.
  /// kCorruption, naming both sides.
  Status CheckConservation() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvstream::sim
