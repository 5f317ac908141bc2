#include "sim/write_stage.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace kvstream::sim {
namespace {

/// Copies under way per tier: enough that the next one hides the latency of the last.
constexpr size_t kWritesInFlight = 4;

}  // namespace

WriteStage::Operation::Operation(WriteStage* owner, uint32_t of_tier)
    : stage(owner), tier(of_tier), transfer(&OnTransfer, this) {}

WriteStage::WriteStage(const WriteOptions& options, std::vector<DeviceSet::Port> ports,
                       TierSet& tiers, EventQueue& queue)
    : options_(options),
      tier_set_(tiers),
      queue_(queue),
      tiers_(ports.size()),
      answer_(EventKind::kTransfer, kCalls<&WriteStage::OnAnswer>, this) {
  for (uint32_t tier = 0; tier < tiers_.size(); ++tier) {
    tiers_[tier].port = ports[tier];
    for (size_t i = 0; i < kWritesInFlight; ++i) {
      tiers_[tier].idle.push_back(std::make_unique<Operation>(this, tier));
    }
  }
}

void WriteStage::SetAccepted(Accepted accepted, void* context) {
  accepted_ = accepted;
  context_ = context;
}

void WriteStage::Write(std::span<const StorageChunk> chunks) {
  KVS_ASSERT(!accepting());
  waiting_.assign(chunks.begin(), chunks.end());
  next_ = 0;
  handed_at_ = queue_.now();
  Accept();
}

/// The copies of the chunk that the policy wants and nobody makes yet.
TierMask WriteStage::Missing(const StorageChunk& chunk) const {
  const TierMask wanted = FirstCopies(options_, tier_set_.count(), chunk);
  TierMask have = tier_set_.Holders(chunk.id);
  const auto staged = staged_.find(chunk.id);
  if (staged != staged_.end()) have = static_cast<TierMask>(have | staged->second.copies);
  // A policy of one copy is content with any.
  if (have != 0 && wanted != tier_set_.all()) return 0;
  return static_cast<TierMask>(wanted & ~have);
}

void WriteStage::Accept() {
  for (; next_ < waiting_.size(); ++next_) {
    const StorageChunk& chunk = waiting_[next_];
    const TierMask copies = Missing(chunk);
    if (copies == 0) continue;
    const bool waits = options_.full == StageFull::kWait && chunk.bytes <= options_.stage_bytes;
    if (waits && !Fits(chunk.id, chunk.bytes)) {
      Release();  // without room, copies go out even against reads
      if (!Fits(chunk.id, chunk.bytes)) return;
    }
    handed_bytes_ += chunk.bytes;
    if (tier_set_.Holders(chunk.id) == 0 && !Staged(chunk.id)) new_bytes_ += chunk.bytes;
    Fits(chunk.id, chunk.bytes) ? Stage(chunk.id, chunk.bytes, copies) : Drop(chunk.bytes, copies);
  }
  waiting_.clear();
  next_ = 0;
  queue_.Schedule(answer_, queue_.now());
  if (options_.timing == WriteTiming::kImmediate) Release();
}

void WriteStage::OnAnswer() {
  waited_s_ += std::chrono::duration<double>(queue_.now() - handed_at_).count();
  accepted_(context_);
}

void WriteStage::Copy(uint32_t id, uint64_t bytes, TierMask tiers) {
  const auto staged = staged_.find(id);
  const TierMask under_way = staged == staged_.end() ? TierMask{0} : staged->second.copies;
  const auto copies = static_cast<TierMask>(tiers & ~tier_set_.Holders(id) & ~under_way);
  if (copies == 0) return;
  Fits(id, bytes) ? Stage(id, bytes, copies) : Drop(bytes, copies);
}

bool WriteStage::Fits(uint32_t id, uint64_t bytes) const {
  return Staged(id) || staged_bytes_ + bytes <= options_.stage_bytes;
}

void WriteStage::Stage(uint32_t id, uint64_t bytes, TierMask copies) {
  const auto [staged, added] = staged_.try_emplace(id);
  if (added) {
    staged->second.bytes = bytes;
    staged_bytes_ += bytes;
    staged_bytes_max_ = std::max(staged_bytes_max_, staged_bytes_);
  }
  KVS_ASSERT((staged->second.copies & copies) == 0);
  staged->second.copies = static_cast<TierMask>(staged->second.copies | copies);
  for (uint32_t tier = 0; tier < tiers_.size(); ++tier) {
    if ((copies >> tier & 1) == 0) continue;
    tiers_[tier].queue.push_back(id);
    tiers_[tier].figures.staged_bytes += bytes;
    tiers_[tier].figures.pending_bytes += bytes;
  }
}

void WriteStage::Drop(uint64_t bytes, TierMask copies) {
  for (uint32_t tier = 0; tier < tiers_.size(); ++tier) {
    if ((copies >> tier & 1) == 0) continue;
    tiers_[tier].figures.staged_bytes += bytes;
    tiers_[tier].figures.dropped_bytes += bytes;
  }
}

void WriteStage::Release() {
  for (Tier& tier : tiers_) tier.released = tier.queue.size();
  for (uint32_t tier = 0; tier < tiers_.size(); ++tier) Fill(tier);
}

void WriteStage::Fill(uint32_t tier) {
  Tier& self = tiers_[tier];
  while (self.released > 0 && !self.idle.empty()) {
    const uint32_t id = self.queue.front();
    self.queue.pop_front();
    --self.released;
    const uint64_t bytes = staged_.at(id).bytes;
    if (!tier_set_.MakeRoom(tier, bytes)) {
      self.figures.dropped_bytes += bytes;
      self.figures.pending_bytes -= bytes;
      Settle(tier, id);
      continue;
    }
    Operation& operation = *self.writing.emplace_back(std::move(self.idle.back()));
    self.idle.pop_back();
    operation.id = id;
    operation.bytes = bytes;
    self.busy.Begin(queue_.now());
    self.port.device->Submit(self.port.node, Direction::kWrite, bytes, operation.transfer);
  }
}

void WriteStage::OnTransfer(void* context, Device::Transfer& /*transfer*/) {
  auto* operation = static_cast<Operation*>(context);
  operation->stage->OnWritten(*operation);
}

void WriteStage::OnWritten(Operation& operation) {
  const uint32_t tier = operation.tier;
  Tier& self = tiers_[tier];
  self.busy.End(queue_.now());
  self.figures.written_bytes += operation.bytes;
  self.figures.pending_bytes -= operation.bytes;
  const uint32_t id = operation.id;
  tier_set_.Commit(tier, id, operation.bytes);
  const auto place = std::ranges::find(self.writing, &operation, &std::unique_ptr<Operation>::get);
  self.idle.push_back(std::move(*place));
  self.writing.erase(place);
  Settle(tier, id);
  Fill(tier);
  if (next_ < waiting_.size()) Accept();
}

/// One copy is written or dropped; the last one gives the room back.
void WriteStage::Settle(uint32_t tier, uint32_t id) {
  const auto staged = staged_.find(id);
  KVS_ASSERT(staged != staged_.end());
  staged->second.copies = static_cast<TierMask>(staged->second.copies & ~(1u << tier));
  if (staged->second.copies != 0) return;
  staged_bytes_ -= staged->second.bytes;
  staged_.erase(staged);
}

WriteStage::TierFigures WriteStage::figures(uint32_t tier) const {
  TierFigures figures = tiers_[tier].figures;
  figures.write_busy_s = tiers_[tier].busy.seconds(queue_.now());
  return figures;
}

}  // namespace kvstream::sim
