#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/core_handle.h"
#include "engine/memory_lane.h"
#include "engine/read_lane.h"
#include "engine/write_lane.h"
#include "sim/sim_disk.h"

namespace kvstream::test {

inline constexpr uint32_t kSimBlockBytes = 4096;

struct SimEngineOptions {
  core::CoreOptions core;
  bool verify = true;
  std::string owner = "me";
};

/// The engine's production parts without threads: one core and its lanes, each run one turn at a
/// time by the caller, in any order. A lane is asked to run only when it was woken or something of
/// its own is due, so a wake-up that is missing shows. One thread.
class SimEngine {
 public:
  /// Opens the tiers. What the arguments name outlives the engine.
  SimEngine(const SimEngineOptions& options, std::span<const std::unique_ptr<SimDisk>> disks,
            const SimClock& clock);
  ~SimEngine();
  SimEngine(const SimEngine&) = delete;
  SimEngine& operator=(const SimEngine&) = delete;

  // Lane 2t reads tier t, lane 2t + 1 writes it, the last one is the memory lane.
  size_t lane_count() const { return 2 * tiers_.size() + 1; }
  bool Runnable(size_t lane) const;
  /// One turn. True if it changed anything.
  bool Run(size_t lane);
  /// When something comes up for the lane by itself.
  TimePoint DueOf(size_t lane) const;
  size_t in_flight() const;
  /// When the memory lane will tick.
  TimePoint next_tick() const { return next_tick_; }

  /// Loads the snapshot, if there is one; true if it was clean, so that no scan is needed.
  bool LoadSnapshot(uint32_t tier);
  /// Requires that nothing fails meanwhile.
  void Scan(uint32_t tier);
  void SetReady(uint32_t tier);
  /// False if the file system has no room for it.
  bool WriteSnapshot(uint32_t tier, bool clean);
  /// Ends the lanes, which must be idle.
  void CloseLanes();

  template <typename F>
  auto Call(F&& f) {
    return core_.Call(std::forward<F>(f));
  }
  const core::Core& core() const { return *core_address_; }
  std::vector<Event> TakeEvents() { return core_.TakeEvents(); }
  io::BlockPool& stage_pool() { return *stage_pool_; }
  NamespaceId ns() const { return ns_; }
  std::string ChunkPath(uint32_t tier, const ChunkKey& key) const;
  /// Blocks of all pools that somebody holds.
  size_t blocks_taken() const;

 private:
  struct Tier {
    SimDisk* disk = nullptr;
    std::unique_ptr<tier::TierDirectory> directory;
    std::unique_ptr<io::BlockPool> bounce;
    std::unique_ptr<io::BlockPool> write_blocks;
    SimBackend* read_backend = nullptr;  // the lanes'
    SimBackend* write_backend = nullptr;
    std::unique_ptr<engine::ReadLane> read_lane;
    std::unique_ptr<engine::WriteLane> write_lane;
  };

  void OpenTier(uint32_t index, SimDisk& disk);
  bool RunLane(size_t lane);
  void AddFound(uint32_t tier, const std::vector<core::FoundChunk>& found);

  const SimEngineOptions options_;
  const SimClock& clock_;
  const chunk::Fingerprint fingerprint_;
  engine::NamespaceTable namespaces_;
  NamespaceId ns_ = 0;
  std::unique_ptr<io::BlockPool> stage_pool_;
  engine::CoreHandle core_;
  const core::Core* core_address_ = nullptr;
  engine::MemoryLane memory_lane_;
  std::vector<Tier> tiers_;
  std::vector<bool> woken_;
  TimePoint next_tick_ = TimePoint::min();
};

/// The one namespace of simulations.
Identity SimIdentity();

/// Publishes a chunk as another owner on another node would.
void PublishForeign(SimDisk& disk, const chunk::MetaRef& meta, std::span<const std::byte> payload);

}  // namespace kvstream::test
