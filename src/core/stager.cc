#include "core/stager.h"

#include <algorithm>

#include "base/assert.h"

namespace kvstream::core {

Stager::Stager(SharedState& shared) : shared_(shared) {
  for (uint32_t tier = 0; tier < shared.options.tier_count(); ++tier) {
    tiers_.emplace_back(TierHealth::Options{});
  }
}

void Stager::BeginJob(JobId job, uint32_t items) {
  jobs_[job].open = items;
  jobs_[job].written.resize(items);
  if (items == 0) FinishJobIfDone(job);
}

Admission Stager::Admit(const WriteRequest& request) {
  const Slot slot = shared_.index.Find(request.ns, request.key);
  if (slot != kNoSlot && shared_.index.entry(slot).readable() && !request.replace) {
    const ChunkIndex::Entry& entry = shared_.index.entry(slot);
    if (entry.meta->payload_bytes == request.bytes) {
      shared_.index.Touch(slot);
      ++shared_.stats.already_present_chunks;
      return {WriteAccept::kAlreadyPresent, 0};
    }
  }
  const uint64_t blocks =
      (request.bytes + shared_.options.block_bytes - 1) / shared_.options.block_bytes;
  const uint64_t room = blocks * shared_.options.block_bytes;
  if (shared_.stats.staged_bytes + room > shared_.options.write.stage_bytes) {
    refused_ = true;
    shared_.wake.write |= shared_.all_tiers();
    return {WriteAccept::kDropped, 0};
  }
  const uint32_t stage = next_stage_++;
  if (next_stage_ == 0) next_stage_ = 1;
  Staged& staged = staged_[stage];
  staged.job = request.job;
  staged.item = request.item;
  staged.bytes = room;
  staged.borrowed = request.borrowed;
  staged.copies.resize(tiers_.size());
  shared_.stats.staged_bytes += room;
  shared_.stats.staged_bytes_peak =
      std::max(shared_.stats.staged_bytes_peak, shared_.stats.staged_bytes);
  ++shared_.stats.accepted_chunks;
  return {WriteAccept::kStaged, stage};
}

void Stager::Commit(uint32_t stage, chunk::MetaRef meta, std::vector<std::byte*> blocks,
                    ConstSegments segments, bool replace) {
  Staged& staged = staged_.at(stage);
  KVS_ASSERT(!staged.committed);
  staged.committed = true;
  staged.order = next_order_++;
  orders_[staged.order] = stage;
  staged.meta = meta;
  staged.blocks = std::move(blocks);
  staged.segments = std::move(segments);
  staged.sealed = !staged.borrowed;
  staged.since = shared_.now;
  Slot slot = shared_.index.Find(meta->ns, meta->key);
  if (slot != kNoSlot && shared_.index.entry(slot).readable()) {
    const ChunkIndex::Entry& entry = shared_.index.entry(slot);
    if (!replace && entry.meta->payload_bytes == meta->payload_bytes) {
      // Another write of the same key was faster: this one is its equal.
      ++shared_.stats.already_present_chunks;
      for (Copy& copy : staged.copies) copy.state = CopyState::kDropped;
      staged.discarded = true;
      staged.sealed = true;
      return SettleIfDone(stage);
    }
    // The old version must not be readable when the caller's Write returns.
    shared_.index.Pin(slot);
    if (entry.stage != 0) Discard(entry.stage, DropReason::kReplaced);
    shared_.DropCopies(slot, shared_.all_tiers());
    shared_.index.Unpin(slot);
  }
  slot = shared_.index.SetVersion(meta);
  shared_.index.Pin(slot);
  shared_.index.SetStage(slot, stage);
  staged.slot = slot;
  if (!staged.sealed) {
    to_seal_.push_back(stage);
    shared_.wake.memory = true;
  }
  for (uint32_t tier = 0; tier < tiers_.size(); ++tier) {
    tiers_[tier].queue.push_back(stage);
    if (!tiers_[tier].health.up()) DropCopy(stage, tier, DropReason::kTierDown);
  }
  shared_.wake.write |= shared_.all_tiers();
  shared_.wake.memory = true;  // age and idle times run from now
  SettleIfDone(stage);
}

void Stager::SettleNow(JobId job, uint32_t item, bool ok, TierMask tiers, uint64_t bytes) {
  Job& owner = jobs_.at(job);
  KVS_ASSERT(owner.open > 0);
  --owner.open;
  owner.failed += ok ? 0 : 1;
  owner.bytes += ok ? bytes : 0;
  shared_.events.push_back(
      {Event::Kind::kChunkSettled, ok, MissReason::kNone, tiers, item, job, ok ? bytes : 0});
  FinishJobIfDone(job);
}

void Stager::FinishJobIfDone(JobId job) {
  const Job& owner = jobs_.at(job);
  if (owner.open > 0) return;
  // The head of a prefix is touched last, so that its tail is evicted first.
  for (auto meta = owner.written.rbegin(); meta != owner.written.rend(); ++meta) {
    const Slot slot = *meta ? shared_.index.Find((*meta)->ns, (*meta)->key) : kNoSlot;
    if (slot != kNoSlot) shared_.index.Touch(slot);
  }
  shared_.events.push_back(
      {Event::Kind::kWriteDone, owner.failed == 0, MissReason::kNone, 0, 0, job, owner.bytes});
  jobs_.erase(job);
}

StagedSource Stager::Lend(uint32_t stage) {
  Staged& staged = staged_.at(stage);
  ++staged.readers;
  return {stage, staged.meta, staged.blocks.empty() ? nullptr : &staged.blocks, &staged.segments,
          staged.sealed};
}

void Stager::GiveBack(uint32_t stage) {
  Staged& staged = staged_.at(stage);
  KVS_ASSERT(staged.readers > 0);
  --staged.readers;
  SettleIfDone(stage);
}

bool Stager::NextMemoryOp(MemoryOp* op) {
  while (!to_seal_.empty()) {
    const uint32_t stage = to_seal_.front();
    to_seal_.pop_front();
    const auto found = staged_.find(stage);
    if (found == staged_.end()) continue;
    found->second.sealing = true;
    *op = {MemoryOp::Kind::kSeal,   shared_.next_op++,
           found->second.meta,      nullptr,
           &found->second.segments, nullptr};
    seals_[op->id] = stage;
    return true;
  }
  return false;
}

void Stager::FinishSeal(OpId id) {
  const auto found = seals_.find(id);
  KVS_ASSERT(found != seals_.end());
  const uint32_t stage = found->second;
  seals_.erase(found);
  Staged& staged = staged_.at(stage);
  staged.sealed = true;
  staged.sealing = false;
  shared_.wake.write |= shared_.all_tiers();
  SettleIfDone(stage);
}

void Stager::Discard(uint32_t stage, DropReason reason) {
  Staged& staged = staged_.at(stage);
  KVS_ASSERT(staged.committed && !staged.discarded);
  staged.discarded = true;
  staged.discard_reason = reason;
  shared_.index.SetStage(staged.slot, 0);
  for (uint32_t tier = 0; tier < tiers_.size(); ++tier) DropCopy(stage, tier, reason);
  SettleIfDone(stage);
}

void Stager::DiscardOn(uint32_t stage, TierMask tiers) {
  for (uint32_t tier = 0; tier < tiers_.size(); ++tier) {
    if ((tiers & shared_.Bit(tier)) == 0) continue;
    Copy& copy = staged_.at(stage).copies[tier];
    copy.unwanted = copy.state == CopyState::kClosing;
    DropCopy(stage, tier, DropReason::kReplaced);
  }
  SettleIfDone(stage);
}

/// Gives up the tier's copy: at once if it has not begun, else as soon as nothing is in flight.
void Stager::DropCopy(uint32_t stage, uint32_t tier, DropReason reason) {
  Copy& copy = staged_.at(stage).copies[tier];
  if (copy.state == CopyState::kDone || copy.state == CopyState::kDropped) return;
  if (copy.state == CopyState::kClosing) return;  // its fate is on the way
  if (!copy.failed) ++shared_.stats.tiers[tier].dropped_copies[static_cast<size_t>(reason)];
  copy.failed = true;
  copy.reason = reason;
  shared_.wake.write |= shared_.Bit(tier);
  if (copy.state != CopyState::kQueued) return;
  copy.state = CopyState::kDropped;
  std::erase(tiers_[tier].queue, stage);
}

TierMask Stager::TiersDone(const Staged& staged) {
  TierMask tiers = 0;
  for (size_t tier = 0; tier < staged.copies.size(); ++tier) {
    if (staged.copies[tier].state == CopyState::kDone) tiers |= static_cast<TierMask>(1u << tier);
  }
  return tiers;
}

/// Gives the room back once every copy has its fate and nobody reads from the stage.
void Stager::SettleIfDone(uint32_t stage) {
  Staged& staged = staged_.at(stage);
  if (!staged.committed || staged.readers > 0 || staged.sealing) return;
  for (const Copy& copy : staged.copies) {
    if (copy.state != CopyState::kDone && copy.state != CopyState::kDropped) return;
  }
  const TierMask tiers = TiersDone(staged);
  const bool equal_present = staged.slot == kNoSlot;  // see Commit
  const bool ok = equal_present || (tiers != 0 && !staged.discarded);
  if (ok) {
    ++shared_.stats.settled_chunks;
  } else {
    const DropReason reason = staged.discarded ? staged.discard_reason : staged.copies[0].reason;
    ++shared_.stats.dropped_chunks[static_cast<size_t>(reason)];
  }
  if (staged.slot != kNoSlot) {
    if (!staged.discarded) shared_.index.SetStage(staged.slot, 0);
    shared_.index.Unpin(staged.slot);
  }
  freed_blocks_.insert(freed_blocks_.end(), staged.blocks.begin(), staged.blocks.end());
  KVS_ASSERT(shared_.stats.staged_bytes >= staged.bytes);
  shared_.stats.staged_bytes -= staged.bytes;
  // Half empty: whoever found it full finds room, and writes need not go out during reads for it.
  if (shared_.stats.staged_bytes <= shared_.options.write.stage_bytes / 2) refused_ = false;
  const JobId job = staged.job;
  const uint32_t item = staged.item;
  const uint64_t bytes = staged.meta->payload_bytes;
  if (ok) jobs_.at(job).written[item] = staged.meta;
  orders_.erase(staged.order);
  staged_.erase(stage);
  SettleNow(job, item, ok, ok ? tiers : TierMask{0}, bytes);
}

void Stager::ReadsBegan() { forward_open_ = false; }

void Stager::ForwardBegan() {
  forward_open_ = true;
  shared_.step_open = false;
  shared_.wake.write |= shared_.all_tiers();
}

void Stager::StepBegin() {
  forward_open_ = false;
  shared_.step_open = true;
}

uint64_t Stager::Flush() {
  flush_order_ = next_order_ - 1;
  shared_.wake.write |= shared_.all_tiers();
  return flush_order_;
}

void Stager::DropAll(DropReason reason) {
  for (uint32_t tier = 0; tier < tiers_.size(); ++tier) DropCopiesOf(tier, reason);
}

void Stager::DropUnready(DropReason reason) {
  for (uint32_t tier = 0; tier < tiers_.size(); ++tier) {
    if (!tiers_[tier].ready) DropCopiesOf(tier, reason);
  }
}

void Stager::DropCopiesOf(uint32_t tier, DropReason reason) {
  std::vector<uint32_t> stages = tiers_[tier].active;
  stages.insert(stages.end(), tiers_[tier].queue.begin(), tiers_[tier].queue.end());
  for (const uint32_t stage : stages) {
    DropCopy(stage, tier, reason);
    SettleIfDone(stage);
  }
}

std::vector<UnreleasedBuffer> Stager::Unreleased() const {
  std::vector<UnreleasedBuffer> buffers;
  for (const auto& [id, operation] : in_flight_) {
    if (operation.kind != WriteOp::Kind::kBlocks) continue;
    const Staged& staged = staged_.at(operation.stage);
    if (staged.borrowed) {
      buffers.push_back({staged.job, staged.item, shared_.options.tiers[operation.tier].name});
    }
  }
  for (const auto& [stage, staged] : staged_) {
    const bool in_use = staged.sealing || staged.readers > 0;
    if (staged.borrowed && in_use) buffers.push_back({staged.job, staged.item, "memory"});
  }
  return buffers;
}

std::vector<std::byte*> Stager::SurrenderBlocks() {
  std::vector<std::byte*> blocks = TakeFreedBlocks();
  for (auto& [stage, staged] : staged_) {
    blocks.insert(blocks.end(), staged.blocks.begin(), staged.blocks.end());
    staged.blocks.clear();
  }
  return blocks;
}

}  // namespace kvstream::core
