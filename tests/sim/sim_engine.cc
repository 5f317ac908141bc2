#include "sim/sim_engine.h"

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <map>

#include <fmt/format.h>

#include "base/assert.h"
#include "chunk/footer.h"
#include "engine/engine_open.h"

namespace kvstream::test {
namespace {

constexpr char kForeignOwner[] = "other";

/// Pools cost huge pages, so simulations hand them on.
std::multimap<size_t, std::unique_ptr<io::BlockPool>>& IdlePools() {
  static std::multimap<size_t, std::unique_ptr<io::BlockPool>> pools;
  return pools;
}

std::unique_ptr<io::BlockPool> TakePool(size_t blocks) {
  auto idle = IdlePools().extract(blocks);
  if (idle) return std::move(idle.mapped());
  auto pool = io::BlockPool::Create(kSimBlockBytes, blocks);
  KVS_ASSERT(pool.has_value());
  return *std::move(pool);
}

void GivePool(std::unique_ptr<io::BlockPool> pool) {
  if (pool->free_blocks() == pool->capacity()) {
    IdlePools().emplace(pool->capacity(), std::move(pool));
    return;
  }
  // A run that failed half-way: its blocks are lost, so the pool stays for good.
  static auto& lost = *new std::vector<io::BlockPool*>;
  lost.push_back(pool.release());
}

tier::TierDirectoryOptions DirectoryOptions(const std::string& owner, uint32_t index,
                                            uint64_t seed) {
  tier::TierDirectoryOptions options;
  options.name = fmt::format("t{}", index);
  options.directory = kSimRoot;
  options.owner = owner;
  options.holder = "simulation";
  options.random_seed = seed;
  return options;
}

class Sink final : public tier::ScanSink {
 public:
  explicit Sink(NamespaceId ns) : ns_(ns) {}

  void OnChunks(std::span<tier::ScannedChunk> chunks) override {
    for (tier::ScannedChunk& chunk : chunks) {
      found.push_back({std::move(chunk.footer.meta), chunk.owned});
      found.back().meta.mutable_meta().ns = ns_;
    }
  }

  std::vector<core::FoundChunk> found;

 private:
  const NamespaceId ns_;
};

}  // namespace

Identity SimIdentity() {
  Identity identity;
  identity.model = "simulated";
  return identity;
}

void PublishForeign(SimDisk& disk, const chunk::MetaRef& meta, std::span<const std::byte> payload) {
  auto directory =
      tier::TierDirectory::Open(disk.files, DirectoryOptions(kForeignOwner, 9, meta->write_id));
  KVS_ASSERT(directory.has_value());
  const auto fingerprint = chunk::Fingerprint::Of(SimIdentity());
  std::vector<std::byte> bytes(meta->FileBytes());
  std::copy(payload.begin(), payload.end(), bytes.begin());
  chunk::EncodeFooter(*meta, fingerprint, kForeignOwner,
                      std::span(bytes).last<chunk::kFooterBytes>());
  auto temp = (*directory)->CreateTemp(fingerprint, meta->key, false, meta->FileBytes());
  KVS_ASSERT(temp.has_value());
  KVS_ASSERT(disk.files.Write(temp->fd, bytes, 0) == static_cast<int64_t>(bytes.size()));
  io::FileInfo info;
  KVS_ASSERT(disk.files.StatFd(temp->fd, &info) == 0);
  KVS_ASSERT(disk.files.Close(temp->fd) == 0);
  KVS_ASSERT((*directory)->Publish(temp->path, fingerprint, meta->key) == 0);
  disk.foreign_inodes.insert(info.inode);
}

SimEngine::SimEngine(const SimEngineOptions& options,
                     std::span<const std::unique_ptr<SimDisk>> disks, const SimClock& clock)
    : options_(options),
      clock_(clock),
      fingerprint_(chunk::Fingerprint::Of(SimIdentity())),
      stage_pool_(TakePool(options.core.write.stage_bytes / kSimBlockBytes)),
      core_(options.core, clock, *stage_pool_, [] {}),
      memory_lane_(core_, options.verify),
      tiers_(disks.size()),
      woken_(lane_count(), true) {
  core_address_ = core_.Peek([](const core::Core& core, TimePoint) { return &core; });
  ns_ = namespaces_.IdOf(fingerprint_).value();
  for (uint32_t index = 0; index < disks.size(); ++index) OpenTier(index, *disks[index]);
  core_.SetMemoryWaker([this] { woken_.back() = true; });
}

void SimEngine::OpenTier(uint32_t index, SimDisk& disk) {
  Tier& tier = tiers_[index];
  tier.disk = &disk;
  auto directory = tier::TierDirectory::Open(
      disk.files, DirectoryOptions(options_.owner, index, options_.core.seed + index));
  KVS_ASSERT(directory.has_value());
  tier.directory = *std::move(directory);
  KVS_ASSERT(tier.directory->CreateNamespace(SimIdentity()).has_value());
  tier.bounce = TakePool(options_.core.bounce_blocks / options_.core.tiers.size());
  tier.write_blocks = TakePool(options_.core.write.window_bytes / kSimBlockBytes + 8);
  SimBackendOptions backend;
  backend.depth = 128;
  backend.faults = &disk.transfer_faults;
  auto reads = std::make_unique<SimBackend>(disk.files, disk.read_device, clock_, backend);
  auto writes = std::make_unique<SimBackend>(disk.files, disk.write_device, clock_, backend);
  tier.read_backend = reads.get();
  tier.write_backend = writes.get();
  const engine::LaneContext read_context{index,      core_,           *tier.directory,
                                         disk.files, namespaces_,     *tier.bounce,
                                         true,       options_.verify, kSimBlockBytes};
  const engine::LaneContext write_context{index,      core_,           *tier.directory,
                                          disk.files, namespaces_,     *tier.write_blocks,
                                          true,       options_.verify, kSimBlockBytes};
  tier.read_lane = std::make_unique<engine::ReadLane>(read_context, std::move(reads));
  tier.write_lane = std::make_unique<engine::WriteLane>(write_context, std::move(writes));
  core_.SetWakers(
      index, [this, index] { woken_[2 * index] = true; },
      [this, index] { woken_[2 * index + 1] = true; });
}

SimEngine::~SimEngine() {
  for (Tier& tier : tiers_) {
    tier.read_lane.reset();
    tier.write_lane.reset();
    GivePool(std::move(tier.bounce));
    GivePool(std::move(tier.write_blocks));
  }
  // The core holds no block that the pool must have back: blocks are plain memory to it.
  GivePool(std::move(stage_pool_));
}

bool SimEngine::Runnable(size_t lane) const { return woken_[lane] || DueOf(lane) <= clock_.Now(); }

bool SimEngine::Run(size_t lane) {
  if (lane + 1 < lane_count()) return RunLane(lane);
  woken_[lane] = false;
  const TimePoint before = next_tick_;
  next_tick_ = memory_lane_.RunOnce();
  return next_tick_ != before;
}

bool SimEngine::RunLane(size_t lane) {
  Tier& tier = tiers_[lane / 2];
  const SimBackend& backend = lane % 2 == 0 ? *tier.read_backend : *tier.write_backend;
  const bool due = backend.NextCompletion() <= clock_.Now();
  const size_t in_flight = backend.in_flight();
  woken_[lane] = false;
  const auto wait = std::chrono::nanoseconds(0);
  const size_t ended =
      lane % 2 == 0 ? tier.read_lane->RunOnce(wait) : tier.write_lane->RunOnce(wait);
  // Its thread would turn again at once.
  if (ended > 0 || due) woken_[lane] = true;
  return ended > 0 || due || backend.in_flight() != in_flight;
}

TimePoint SimEngine::DueOf(size_t lane) const {
  if (lane + 1 == lane_count()) return next_tick_;
  const Tier& tier = tiers_[lane / 2];
  return (lane % 2 == 0 ? tier.read_backend : tier.write_backend)->NextCompletion();
}

size_t SimEngine::in_flight() const {
  size_t count = 0;
  for (const Tier& tier : tiers_) {
    count += tier.read_backend->in_flight() + tier.write_backend->in_flight();
  }
  return count;
}

bool SimEngine::LoadSnapshot(uint32_t tier) {
  auto snapshot = tiers_[tier].directory->LoadSnapshot();
  const bool clean = snapshot && snapshot->clean;
  if (snapshot) {
    std::vector<core::FoundChunk> found;
    for (const tier::SnapshotEntry& entry : snapshot->entries) {
      KVS_ASSERT(snapshot->fingerprints[entry.fingerprint_index] == fingerprint_);
      found.push_back({entry.meta, entry.owned});
      found.back().meta.mutable_meta().ns = ns_;
    }
    snapshot->entries.clear();
    AddFound(tier, found);
  }
  KVS_ASSERT(tiers_[tier].directory->MarkSnapshotStale().has_value());
  return clean;
}

void SimEngine::Scan(uint32_t tier) {
  core_.Call([&](core::Core& core, TimePoint) { core.ScanBegins(tier); });
  Sink sink(ns_);
  const auto report = tiers_[tier].directory->Scan(sink, {});
  KVS_ASSERT(report.has_value() && report->errors == 0);
  AddFound(tier, sink.found);
  core_.Call([&](core::Core& core, TimePoint now) { core.ScanEnds(tier, true, now); });
  SetReady(tier);
}

void SimEngine::AddFound(uint32_t tier, const std::vector<core::FoundChunk>& found) {
  core_.Call([&](core::Core& core, TimePoint now) { core.AddFound(tier, found, now); });
}

void SimEngine::SetReady(uint32_t tier) {
  core_.Call([&](core::Core& core, TimePoint now) { core.SetReady(tier, now); });
}

bool SimEngine::WriteSnapshot(uint32_t tier, bool clean) {
  const tier::Snapshot snapshot = engine::CollectSnapshot(core(), namespaces_, tier);
  const Status written = tiers_[tier].directory->WriteSnapshot(snapshot, clean);
  KVS_ASSERT(written || written.error().code() == ErrorCode::kNoSpace);
  return written.has_value();
}

void SimEngine::CloseLanes() {
  for (Tier& tier : tiers_) {
    tier.read_lane->Close();
    tier.write_lane->Close();
    tier.read_backend = nullptr;
    tier.write_backend = nullptr;
  }
}

std::string SimEngine::ChunkPath(uint32_t tier, const ChunkKey& key) const {
  return tiers_[tier].directory->ChunkPath(fingerprint_, key);
}

size_t SimEngine::blocks_taken() const {
  const auto taken = [](const io::BlockPool& pool) { return pool.capacity() - pool.free_blocks(); };
  size_t blocks = taken(*stage_pool_);
  for (const Tier& tier : tiers_) blocks += taken(*tier.bounce) + taken(*tier.write_blocks);
  return blocks;
}

}  // namespace kvstream::test
