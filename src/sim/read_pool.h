#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "route/claim_pacer.h"
#include "route/router.h"
#include "sim/busy_time.h"
#include "sim/device.h"
#include "sim/device_set.h"
#include "sim/event_queue.h"
#include "sim/storage_options.h"

namespace kvstream::sim {

/// Reads one step after the other as the engine's read scheduler does (src/core/read_claims.cc):
/// the same router, pacer and rule for declining decide which tier claims which piece, and idle
/// tiers read again what a slower one still has in flight. Differences: devices never fail, engine
/// memory for the endgame is never short, and pieces are coarser in large steps
/// (StorageOptions::pieces_max).
///
/// Not thread-safe.
class ReadPool {
 public:
  /// Called from an event of kind kTransfer.
  using Done = void (*)(void* context);

  ReadPool(const StorageOptions& options, std::vector<DeviceSet::Port> ports, EventQueue& queue,
           Done done, void* context);
  ReadPool(const ReadPool&) = delete;
  ReadPool& operator=(const ReadPool&) = delete;

  /// Begins the retrieval of a step; none may be open. holders[i] are the tiers that have chunk i;
  /// without any it is ready at once (staged).
  void Begin(const StepReads& reads, std::span<const TierMask> holders);
  bool open() const { return open_; }

  struct TierFigures {
    uint64_t read_bytes = 0;
    uint64_t read_chunks = 0;
    double read_busy_s = 0;
  };
  /// From the start.
  TierFigures figures(uint32_t tier) const;
  /// What the tier showed in the last step: bytes per second of that step's claims while one of
  /// them was under way. A piece of an earlier step that still was on its way does not count. 0
  /// without.
  double step_bandwidth(uint32_t tier) const;
  /// Of each chunk of the last step the tier that delivered its last piece; kNoTier for staged
  /// ones.
  static constexpr uint8_t kNoTier = 255;
  std::span<const uint8_t> delivered_by() const { return delivered_by_; }

  uint64_t read_twice_bytes() const { return read_twice_bytes_; }
  uint64_t delivered_bytes() const { return delivered_bytes_; }  ///< Chunks that became ready.
  uint64_t claims() const { return claims_; }
  uint64_t claims_done() const { return claims_done_; }
  uint64_t in_flight() const;

 private:
  struct Operation {
    explicit Operation(ReadPool* owner);

    ReadPool* pool;
    uint32_t tier = 0;
    route::Claim claim;
    TimePoint issued{};
    uint64_t step = 0;
    bool can_overtake = false;   // arrives in engine memory, so another may be first
    bool arrived_first = false;  // the other one of the pair has delivered the piece
    Operation* other = nullptr;  // reads the same piece
    Device::Transfer transfer;
  };
  struct Tier {
    DeviceSet::Port port;
    route::ClaimPacer pacer;
    std::vector<Operation*> in_flight;  // in order of issue
    BusyTime busy;
    uint64_t read_bytes = 0;
    uint64_t read_chunks = 0;
    BusyTime step_busy;
    uint64_t step_bytes = 0;
  };
  struct Chunk {
    uint64_t bytes = 0;
    uint64_t bytes_left = 0;
    TierMask holders = 0;
  };

  void BeginRequest();
  void Fill(uint32_t tier);
  bool ClaimPiece(uint32_t tier);
  bool ClaimLate(uint32_t tier);
  bool LeaveToOthers(uint32_t tier, uint64_t piece_bytes) const;
  bool NearEnd(uint32_t tier) const;
  double SecondsUntilDone(const Operation& operation) const;
  Operation* Issue(uint32_t tier, const route::Claim& claim, bool can_overtake);
  static void OnTransfer(void* context, Device::Transfer& transfer);
  void OnArrived(Operation& operation);
  void OnPieceReady(const Operation& operation);
  void OnRequestReady();
  void CopyToGpu(uint64_t bytes);
  void OnCopied();
  void OnLateCheck();
  bool EndgameRuns() const;

  StorageOptions options_;
  EventQueue& queue_;
  Done done_;
  void* context_;
  bool may_overtake_;
  route::Router router_;
  std::vector<Tier> tiers_;
  std::vector<std::unique_ptr<Operation>> operations_;
  std::vector<Operation*> free_;

  bool open_ = false;
  uint64_t step_ = 0;
  JobId job_ = 0;
  std::vector<Chunk> chunks_;
  std::vector<uint32_t> request_ends_;
  std::vector<route::PoolChunk> pool_chunks_;  // scratch of BeginRequest
  std::vector<uint64_t> hashes_;
  std::vector<uint8_t> delivered_by_;
  uint64_t block_bytes_ = 0;
  size_t request_ = 0;
  uint32_t chunks_left_ = 0;   // of the open job
  uint64_t serial_bytes_ = 0;  // of the open request
  TimePoint link_free_{};

  uint64_t read_twice_bytes_ = 0;
  uint64_t delivered_bytes_ = 0;
  uint64_t claims_ = 0;
  uint64_t claims_done_ = 0;
  Event copied_;
  Event late_check_;
};

}  // namespace kvstream::sim
