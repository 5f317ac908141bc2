#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "kvstream/options.h"

#include "sim/busy_time.h"
#include "sim/device_set.h"
#include "sim/event_queue.h"
#include "sim/storage_chunk.h"
#include "sim/tier_set.h"
#include "sim/write_policy.h"

namespace kvstream::sim {

/// Chunks on their way to the tiers: staged in memory, held back until they are released (M2), then
/// written tier by tier in the order in which they came, each tier at its own pace. Not
/// thread-safe.
class WriteStage {
 public:
  /// Called from an event of kind kTransfer: everything handed to Write is staged or dropped.
  using Accepted = void (*)(void* context);

  WriteStage(const WriteOptions& options, std::vector<DeviceSet::Port> ports, TierSet& tiers,
             EventQueue& queue);
  WriteStage(const WriteStage&) = delete;
  WriteStage& operator=(const WriteStage&) = delete;

  void SetAccepted(Accepted accepted, void* context);

  /// Stages what the policy wants copies of; the last Write must have been answered.
  void Write(std::span<const StorageChunk> chunks);
  /// Stages further copies of a chunk that is in memory; without room they are dropped.
  void Copy(uint32_t id, uint64_t bytes, TierMask tiers);
  /// Everything staged so far goes out.
  void Release();

  bool Staged(uint32_t id) const { return staged_.contains(id); }
  bool accepting() const { return next_ < waiting_.size() || answer_.scheduled(); }
  bool empty() const { return staged_.empty(); }

  struct TierFigures {
    uint64_t staged_bytes = 0;  ///< Copies that were to be written.
    uint64_t dropped_bytes = 0;
    uint64_t pending_bytes = 0;  ///< Copies not written and not dropped yet.
    uint64_t written_bytes = 0;
    double write_busy_s = 0;
  };
  /// From the start.
  TierFigures figures(uint32_t tier) const;
  uint64_t staged_bytes() const { return staged_bytes_; }
  uint64_t staged_bytes_max() const { return staged_bytes_max_; }
  uint64_t handed_bytes() const { return handed_bytes_; }  ///< Σ W_i
  uint64_t new_bytes() const { return new_bytes_; }        ///< Of those, held by no tier before.
  double waited_s() const { return waited_s_; }            ///< Σ T_wr

 private:
  struct Entry {
    uint64_t bytes = 0;
    TierMask copies = 0;  // still to be written
  };
  struct Operation {
    Operation(WriteStage* owner, uint32_t of_tier);
    WriteStage* stage;
    uint32_t tier;
    uint32_t id = 0;
    uint64_t bytes = 0;
    Device::Transfer transfer;
  };
  struct Tier {
    DeviceSet::Port port;
    std::deque<uint32_t> queue;
    size_t released = 0;  // of the queue, from its front
    std::vector<std::unique_ptr<Operation>> idle;
    std::vector<std::unique_ptr<Operation>> writing;
    BusyTime busy;
    TierFigures figures;
  };

  TierMask Missing(const StorageChunk& chunk) const;
  bool Fits(uint32_t id, uint64_t bytes) const;
  void Accept();
  void Stage(uint32_t id, uint64_t bytes, TierMask copies);
  void Drop(uint64_t bytes, TierMask copies);
  void Fill(uint32_t tier);
  static void OnTransfer(void* context, Device::Transfer& transfer);
  void OnWritten(Operation& operation);
  void Settle(uint32_t tier, uint32_t id);
  void OnAnswer();

  WriteOptions options_;
  TierSet& tier_set_;
  EventQueue& queue_;
  Accepted accepted_ = nullptr;
  void* context_ = nullptr;
  std::vector<Tier> tiers_;
  std::unordered_map<uint32_t, Entry> staged_;
  std::vector<StorageChunk> waiting_;  // of the open Write, from next_ on
  size_t next_ = 0;
  TimePoint handed_at_{};
  uint64_t staged_bytes_ = 0;
  uint64_t staged_bytes_max_ = 0;
  uint64_t handed_bytes_ = 0;
  uint64_t new_bytes_ = 0;
  double waited_s_ = 0;
  Event answer_;
};

}  // namespace kvstream::sim
