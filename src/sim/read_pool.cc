#include "sim/read_pool.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace kvstream::sim {
namespace {

/// The engine's block: the smallest piece.
constexpr uint64_t kBlockBytesMin = kMiB;
constexpr uint64_t kBlockBytesMax = kGiB;
/// How often an idle tier looks again whether a slower one has fallen behind, as in the engine.
constexpr auto kLateCheckInterval = std::chrono::milliseconds(2);

uint64_t BlockBytes(uint64_t step_bytes, uint32_t pieces_max) {
  const uint64_t piece = step_bytes / pieces_max;
  const uint64_t whole_mib = (piece + kMiB - 1) / kMiB * kMiB;
  return std::clamp(whole_mib, kBlockBytesMin, kBlockBytesMax);
}

}  // namespace

ReadPool::Operation::Operation(ReadPool* owner) : pool(owner), transfer(&OnTransfer, this) {}

ReadPool::ReadPool(const StorageOptions& options, std::vector<DeviceSet::Port> ports,
                   EventQueue& queue, Done done, void* context)
    : options_(options),
      queue_(queue),
      done_(done),
      context_(context),
      may_overtake_(options.routing.policy == Policy::kMeetInMiddle &&
                    options.routing.claim_chunks == 0 && ports.size() > 1),
      router_(options.routing, static_cast<uint32_t>(ports.size())),
      copied_(EventKind::kTransfer, kCalls<&ReadPool::OnCopied>, this),
      late_check_(EventKind::kTimer, kCalls<&ReadPool::OnLateCheck>, this) {
  KVS_ASSERT(options.link_bytes_per_second > 0 && options.pieces_max > 0);
  route::ClaimPacer::Options pacing;
  pacing.chunks = options.routing.claim_chunks;
  for (const DeviceSet::Port& port : ports) {
    tiers_.push_back({port, route::ClaimPacer(pacing), {}, {}, 0, 0, {}, 0});
  }
}

void ReadPool::Begin(const StepReads& reads, std::span<const TierMask> holders) {
  KVS_ASSERT(!open_ && reads.chunks.size() == holders.size());
  open_ = true;
  ++step_;
  for (Tier& tier : tiers_) {
    tier.step_busy = {};
    tier.step_bytes = 0;
  }
  request_ = 0;
  chunks_.clear();
  uint64_t bytes = 0;
  uint64_t staged_bytes = 0;
  for (size_t i = 0; i < reads.chunks.size(); ++i) {
    const StorageChunk& chunk = reads.chunks[i];
    KVS_ASSERT(chunk.bytes > 0);
    chunks_.push_back({chunk.bytes, chunk.bytes, holders[i]});
    (holders[i] != 0 ? bytes : staged_bytes) += chunk.bytes;
  }
  delivered_by_.assign(chunks_.size(), kNoTier);
  block_bytes_ = BlockBytes(bytes, options_.pieces_max);
  request_ends_.assign(reads.request_ends.begin(), reads.request_ends.end());
  if (!options_.serial || request_ends_.empty()) {
    request_ends_.assign(1, static_cast<uint32_t>(chunks_.size()));
  }
  KVS_ASSERT(request_ends_.back() == chunks_.size() && std::ranges::is_sorted(request_ends_));
  hashes_.resize(chunks_.size());
  for (size_t i = 0; i < chunks_.size(); ++i) hashes_[i] = ChunkHash(reads.chunks[i].id);
  link_free_ = std::max(link_free_, queue_.now());
  CopyToGpu(reads.host_bytes + staged_bytes);
  BeginRequest();
}

void ReadPool::BeginRequest() {
  const uint32_t first = request_ == 0 ? 0 : request_ends_[request_ - 1];
  const uint32_t end = request_ends_[request_];
  pool_chunks_.clear();
  serial_bytes_ = 0;
  for (uint32_t i = first; i < end; ++i) {
    const Chunk& chunk = chunks_[i];
    if (chunk.holders == 0) continue;
    route::PoolChunk item;
    item.item = i;
    item.block_count = static_cast<uint32_t>((chunk.bytes + block_bytes_ - 1) / block_bytes_);
    item.block_bytes = static_cast<uint32_t>(block_bytes_);
    item.payload_bytes = chunk.bytes;
    item.holders = chunk.holders;
    item.hash = hashes_[i];
    pool_chunks_.push_back(item);
    serial_bytes_ += chunk.bytes;
  }
  chunks_left_ = static_cast<uint32_t>(pool_chunks_.size());
  if (chunks_left_ == 0) return OnRequestReady();
  router_.AddJob(++job_, pool_chunks_);
  for (uint32_t tier = 0; tier < tiers_.size(); ++tier) Fill(tier);
}

/// What the tier's lane does when it has room (ReadScheduler::NextOp).
void ReadPool::Fill(uint32_t tier) {
  while (chunks_left_ > 0 && (ClaimPiece(tier) || ClaimLate(tier))) {
  }
}

bool ReadPool::ClaimPiece(uint32_t tier) {
  Tier& self = tiers_[tier];
  const uint64_t claimable = router_.claimable_bytes(tier);
  if (claimable == 0) return false;
  const uint64_t allowance = self.pacer.Allowance(claimable, static_cast<uint32_t>(tiers_.size()));
  if (allowance == 0) return false;
  if (may_overtake_ && LeaveToOthers(tier, std::min(allowance, claimable))) return false;
  route::Claim claim;
  if (!router_.ClaimNext(tier, allowance, &claim)) return false;
  Issue(tier, claim, NearEnd(tier));
  if (EndgameRuns() && !late_check_.scheduled()) {
    queue_.Schedule(late_check_, queue_.now() + kLateCheckInterval);
  }
  return true;
}

bool ReadPool::ClaimLate(uint32_t tier) {
  Tier& self = tiers_[tier];
  if (!may_overtake_ || router_.claimable_bytes(tier) > 0) return false;
  if (self.pacer.bytes_per_second() <= 0) return false;
  Operation* latest = nullptr;
  double latest_seconds = 0;
  for (uint32_t other = 0; other < tiers_.size(); ++other) {
    if (other == tier) continue;
    for (Operation* operation : tiers_[other].in_flight) {
      if (!operation->can_overtake || operation->other != nullptr) continue;
      if (operation->arrived_first) continue;
      if ((chunks_[operation->claim.item].holders >> tier & 1) == 0) continue;
      const double seconds = SecondsUntilDone(*operation);
      if (seconds <= self.pacer.SecondsFor(operation->claim.bytes)) continue;
      if (seconds <= latest_seconds) continue;
      latest = operation;
      latest_seconds = seconds;
    }
  }
  if (latest == nullptr || self.pacer.Allowance(latest->claim.bytes, 1) == 0) return false;
  Operation* copy = Issue(tier, latest->claim, true);
  copy->other = latest;
  latest->other = copy;
  return true;
}

bool ReadPool::LeaveToOthers(uint32_t tier, uint64_t piece_bytes) const {
  const TierMask readers = router_.NextReaders(tier);
  for (uint32_t other = 0; other < tiers_.size(); ++other) {
    if (other == tier || (readers >> other & 1) == 0) continue;
    const uint64_t left = router_.claimable_bytes(other);
    if (route::Declines(tiers_[tier].pacer, piece_bytes, tiers_[other].pacer, left)) return true;
  }
  return false;
}

bool ReadPool::NearEnd(uint32_t tier) const {
  if (!may_overtake_) return false;
  uint64_t windows = 0;
  for (const Tier& each : tiers_) windows += each.pacer.window_bytes();
  return router_.claimable_bytes(tier) < windows;
}

double ReadPool::SecondsUntilDone(const Operation& operation) const {
  const Tier& owner = tiers_[operation.tier];
  uint64_t bytes_ahead = 0;
  for (const Operation* each : owner.in_flight) {
    bytes_ahead += each->claim.bytes;
    if (each == &operation) break;
  }
  const double age = std::chrono::duration<double>(queue_.now() - operation.issued).count();
  const double rate = owner.pacer.bytes_per_second();
  const double expected = rate > 0 ? static_cast<double>(bytes_ahead) / rate : age;
  return std::max(expected, age > 2 * expected ? age : 0.0);
}

ReadPool::Operation* ReadPool::Issue(uint32_t tier, const route::Claim& claim, bool can_overtake) {
  if (free_.empty()) {
    operations_.push_back(std::make_unique<Operation>(this));
    free_.push_back(operations_.back().get());
  }
  Operation* operation = free_.back();
  free_.pop_back();
  operation->tier = tier;
  operation->claim = claim;
  operation->issued = queue_.now();
  operation->step = step_;
  operation->can_overtake = can_overtake;
  operation->arrived_first = false;
  operation->other = nullptr;
  Tier& self = tiers_[tier];
  self.in_flight.push_back(operation);
  self.busy.Begin(queue_.now());
  self.step_busy.Begin(queue_.now());
  self.pacer.OnClaim(claim.bytes, queue_.now());
  ++claims_;
  self.port.device->Submit(self.port.node, Direction::kRead, claim.bytes, operation->transfer);
  return operation;
}

void ReadPool::OnTransfer(void* context, Device::Transfer& /*transfer*/) {
  auto* operation = static_cast<Operation*>(context);
  operation->pool->OnArrived(*operation);
}

void ReadPool::OnArrived(Operation& operation) {
  const uint32_t tier = operation.tier;
  Tier& self = tiers_[tier];
  const uint64_t bytes = operation.claim.bytes;
  self.in_flight.erase(std::ranges::find(self.in_flight, &operation));
  self.busy.End(queue_.now());
  self.pacer.OnDone(bytes, true, queue_.now());
  self.read_bytes += bytes;
  if (operation.step == step_) {
    self.step_busy.End(queue_.now());
    self.step_bytes += bytes;
  }
  ++claims_done_;
  if (operation.arrived_first) {
    read_twice_bytes_ += bytes;
  } else {
    if (operation.other != nullptr) {
      operation.other->arrived_first = true;
      operation.other->other = nullptr;
    }
    OnPieceReady(operation);
  }
  free_.push_back(&operation);
  Fill(tier);
}

void ReadPool::OnPieceReady(const Operation& operation) {
  KVS_ASSERT(operation.claim.job == job_);
  Chunk& chunk = chunks_[operation.claim.item];
  KVS_ASSERT(chunk.bytes_left >= operation.claim.bytes);
  chunk.bytes_left -= operation.claim.bytes;
  if (chunk.bytes_left > 0) return;
  delivered_by_[operation.claim.item] = static_cast<uint8_t>(operation.tier);
  ++tiers_[operation.tier].read_chunks;
  delivered_bytes_ += chunk.bytes;
  if (!options_.serial) CopyToGpu(chunk.bytes);
  KVS_ASSERT(chunks_left_ > 0);
  if (--chunks_left_ == 0) OnRequestReady();
}

/// Everything of the open request has arrived in host memory.
void ReadPool::OnRequestReady() {
  if (job_ > 0) router_.RemoveJob(job_);
  if (options_.serial) CopyToGpu(serial_bytes_);
  queue_.Cancel(late_check_);
  queue_.Schedule(copied_, link_free_);
}

void ReadPool::CopyToGpu(uint64_t bytes) {
  link_free_ = std::max(link_free_, queue_.now()) +
               SecondsUp(static_cast<double>(bytes) / options_.link_bytes_per_second);
}

void ReadPool::OnCopied() {
  if (++request_ < request_ends_.size()) return BeginRequest();
  open_ = false;
  done_(context_);
}

void ReadPool::OnLateCheck() {
  for (uint32_t tier = 0; tier < tiers_.size(); ++tier) Fill(tier);
  if (EndgameRuns()) queue_.Schedule(late_check_, queue_.now() + kLateCheckInterval);
}

/// Nothing is unread, and something in flight could still be overtaken.
bool ReadPool::EndgameRuns() const {
  if (!may_overtake_ || chunks_left_ == 0 || router_.unread_bytes() > 0) return false;
  return std::ranges::any_of(tiers_, [](const Tier& tier) {
    return std::ranges::any_of(tier.in_flight, [](const Operation* operation) {
      return operation->can_overtake && operation->other == nullptr && !operation->arrived_first;
    });
  });
}

ReadPool::TierFigures ReadPool::figures(uint32_t tier) const {
  const Tier& self = tiers_[tier];
  return {self.read_bytes, self.read_chunks, self.busy.seconds(queue_.now())};
}

double ReadPool::step_bandwidth(uint32_t tier) const {
  const Tier& self = tiers_[tier];
  const double seconds = self.step_busy.seconds(queue_.now());
  return self.step_bytes > 0 && seconds > 0 ? static_cast<double>(self.step_bytes) / seconds : 0;
}

uint64_t ReadPool::in_flight() const {
  uint64_t count = 0;
  for (const Tier& tier : tiers_) count += tier.in_flight.size();
  return count;
}

}  // namespace kvstream::sim
