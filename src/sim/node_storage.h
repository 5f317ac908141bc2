#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "kvstream/options.h"
#include "kvstream/status.h"

#include "sim/device_set.h"
#include "sim/event_queue.h"
#include "sim/step_storage.h"
#include "sim/storage_options.h"

namespace kvstream::sim {

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

  /// Makes exactly `tiers` hold the chunk, without any time passing, evicting as a write does: the
  /// state that a run starts with, or that a log tells. Not while it is read, staged or written.
  /// False if a tier has no room.
  bool SetHolders(const StorageChunk& chunk, TierMask tiers);

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
