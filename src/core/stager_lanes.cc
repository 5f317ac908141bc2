// The gate, and what the write lanes ask for and answer.

#include <algorithm>

#include "base/assert.h"
#include "core/stager.h"

namespace kvstream::core {
namespace {

/// Blocks of one write operation: few enough that reads which come meanwhile wait for little.
constexpr uint32_t kBlocksPerOp = 4;
/// Copies a tier writes at the same time.
constexpr size_t kActiveCopiesMax = 4;
/// Until a file that could not be removed is tried again.
constexpr auto kUnlinkRetryInterval = std::chrono::seconds(1);

/// A full file system is no fault of the tier: it loses copies, it is not set aside.
bool IsFull(WriteResult result) {
  return result.errno_value == ENOSPC || result.errno_value == EDQUOT;
}

}  // namespace

/// Why a write may go to the tier now; nothing while it must wait.
std::optional<FlushReason> Stager::Gate(uint32_t tier, TimePoint now) const {
  const Staged* oldest = OldestOn(tier);
  if (oldest != nullptr && oldest->order <= flush_order_) return FlushReason::kExplicit;
  const bool reading = shared_.open_read_jobs > 0 || shared_.step_open;
  if (!reading && forward_open_) return FlushReason::kHint;
  const auto idle_from = shared_.reads_idle_since == TimePoint::min()
                             ? TimePoint::min()
                             : shared_.reads_idle_since + shared_.options.write.idle_delay;
  if (!reading && now >= idle_from) return FlushReason::kIdle;
  if (oldest == nullptr) return std::nullopt;
  if (now - oldest->since >= shared_.options.write.age_max) return FlushReason::kAge;
  if (refused_) return FlushReason::kStageFull;
  const double high_water =
      shared_.options.write.high_water * static_cast<double>(shared_.options.write.stage_bytes);
  if (static_cast<double>(shared_.stats.staged_bytes) > high_water) return FlushReason::kHighWater;
  return std::nullopt;
}

const Stager::Staged* Stager::OldestOn(uint32_t tier) const {
  const Tier& self = tiers_[tier];
  const Staged* oldest = self.queue.empty() ? nullptr : &staged_.at(self.queue.front());
  for (const uint32_t stage : self.active) {
    const Staged& staged = staged_.at(stage);
    if (oldest == nullptr || staged.order < oldest->order) oldest = &staged;
  }
  return oldest;
}

bool Stager::NextOp(uint32_t tier, TimePoint now, WriteOp* op) {
  Tier& self = tiers_[tier];
  if (NextProbe(tier, now, op)) return true;
  const std::optional<FlushReason> reason = Gate(tier, now);
  if (NextUnlink(tier, /*urgent=*/reason.has_value(), now, op)) return true;
  if (CloseCopy(tier, now, op)) return true;
  if (!reason || !self.ready || !self.health.up()) return false;
  bool want_unlink = false;
  while (self.active.size() < kActiveCopiesMax && BeginCopy(tier, &want_unlink)) {
  }
  if (want_unlink && NextUnlink(tier, /*urgent=*/true, now, op)) return true;
  return NextBlocks(tier, *reason, now, op);
}

bool Stager::NextProbe(uint32_t tier, TimePoint now, WriteOp* op) {
  if (!tiers_[tier].health.ProbeDue(now)) return false;
  tiers_[tier].health.OnProbeSent();
  *op = WriteOp{};
  op->kind = WriteOp::Kind::kProbe;
  op->id = shared_.next_op++;
  Track(op->id, {.kind = op->kind, .tier = tier, .issued = now}, now);
  return true;
}

/// Files to remove go when writes may go, since an unlink can cost milliseconds (io_facts: 2 ms on
/// ext4 mounted with discard).
bool Stager::NextUnlink(uint32_t tier, bool urgent, TimePoint now, WriteOp* op) {
  UnlinkQueue& unlinks = shared_.unlinks[tier];
  if (!urgent || !unlinks.HasDue(now) || !tiers_[tier].ready) return false;
  UnlinkQueue::Item item = unlinks.Pop();
  const auto kind = WriteOp::Kind::kUnlink;
  *op = WriteOp{};
  op->kind = item.temp_of == 0 ? kind : WriteOp::Kind::kAbandon;
  op->id = shared_.next_op++;
  op->copy = item.temp_of;
  op->meta = item.meta;
  Track(op->id, {.kind = kind, .tier = tier, .issued = now, .unlink = std::move(item)}, now);
  return true;
}

/// Publishes a copy whose blocks are all written, or abandons one that failed.
bool Stager::CloseCopy(uint32_t tier, TimePoint now, WriteOp* op) {
  for (const uint32_t stage : tiers_[tier].active) {
    Staged& staged = staged_.at(stage);
    Copy& copy = staged.copies[tier];
    if (copy.state != CopyState::kWriting || copy.in_flight > 0) continue;
    const bool complete = copy.next_block == staged.meta->block_count;
    if (!copy.failed && (!complete || !Gate(tier, now))) continue;
    copy.state = CopyState::kClosing;
    *op = WriteOp{};
    op->kind = copy.failed ? WriteOp::Kind::kAbandon : WriteOp::Kind::kPublish;
    op->id = shared_.next_op++;
    op->copy = stage;
    op->meta = staged.meta;
    Track(op->id, {.kind = op->kind, .tier = tier, .stage = stage, .issued = now}, now);
    return true;
  }
  return false;
}

/// Takes the next copy from the queue. False if there is none, or it has to wait for room.
bool Stager::BeginCopy(uint32_t tier, bool* want_unlink) {
  Tier& self = tiers_[tier];
  if (self.queue.empty()) return false;
  const uint32_t stage = self.queue.front();
  const Staged& staged = staged_.at(stage);
  if (!staged.sealed) return false;
  if (shared_.unlinks[tier].HasFailed(staged.meta->ns, staged.meta->key)) {
    DropCopy(stage, tier, DropReason::kIoError);
    SettleIfDone(stage);
    return true;
  }
  if (NameBusy(tier, staged)) {
    *want_unlink = true;
    return false;
  }
  if (!MakeRoom(tier, staged.meta->FileBytes(), want_unlink)) {
    if (*want_unlink) return false;
    DropCopy(stage, tier, DropReason::kNoSpace);
    SettleIfDone(stage);
    return true;
  }
  self.queue.pop_front();
  self.active.push_back(stage);
  staged_.at(stage).copies[tier].state = CopyState::kWriting;
  return true;
}

/// Whether an older version under the same name is still being written or removed on the tier. Only
/// when that is over may a new one begin, or its file could be what gets removed.
bool Stager::NameBusy(uint32_t tier, const Staged& staged) const {
  if (shared_.unlinks[tier].Concerns(staged.meta->ns, staged.meta->key)) return true;
  return std::ranges::any_of(tiers_[tier].active, [&](uint32_t stage) {
    const chunk::ChunkMeta& other = *staged_.at(stage).meta;
    return other.ns == staged.meta->ns && other.key == staged.meta->key;
  });
}

/// Reserves space on the tier, evicting as needed. False with `wait`: unlinks or other copies have
/// to be done first.
bool Stager::MakeRoom(uint32_t tier, uint64_t bytes, bool* wait) {
  if (bytes > shared_.index.capacity_bytes(tier)) return false;
  if (shared_.index.TryReserve(tier, bytes)) return true;
  *wait = EvictFor(tier, bytes) > 0 || !tiers_[tier].active.empty();
  return false;
}

/// Evicts until `bytes` more will fit once all unlinks are done. Returns what these will give back.
uint64_t Stager::EvictFor(uint32_t tier, uint64_t bytes) {
  uint64_t coming = tiers_[tier].unlinking_bytes + shared_.unlinks[tier].reserved_bytes();
  const uint64_t used = shared_.index.used_bytes(tier);
  while (used - std::min(used, coming) + bytes > shared_.index.capacity_bytes(tier)) {
    const std::optional<Slot> victim = shared_.index.Victim(tier);
    if (!victim) break;
    coming += shared_.index.entry(*victim).meta->FileBytes();
    ++shared_.stats.tiers[tier].evicted_chunks;
    shared_.DropCopy(*victim, tier);
  }
  return coming;
}

bool Stager::NextBlocks(uint32_t tier, FlushReason reason, TimePoint now, WriteOp* op) {
  Tier& self = tiers_[tier];
  for (const uint32_t stage : self.active) {
    Staged& staged = staged_.at(stage);
    Copy& copy = staged.copies[tier];
    if (copy.state != CopyState::kWriting || copy.failed) continue;
    if (copy.next_block == staged.meta->block_count) continue;
    const uint32_t count = std::min(kBlocksPerOp, staged.meta->block_count - copy.next_block);
    const uint64_t bytes = staged.meta->RangeBytes(copy.next_block, count);
    const bool idle = self.in_flight_bytes == 0;
    if (!idle && self.in_flight_bytes + bytes > shared_.options.write.window_bytes) return false;
    *op = WriteOp{};
    op->id = shared_.next_op++;
    op->copy = stage;
    op->meta = staged.meta;
    op->first_block = copy.next_block;
    op->block_count = count;
    op->blocks = staged.borrowed ? nullptr : &staged.blocks;
    op->segments = &staged.segments;
    copy.next_block += count;
    ++copy.in_flight;
    self.in_flight_bytes += bytes;
    shared_.stats.flushed_bytes[static_cast<size_t>(reason)] += bytes;
    if (shared_.open_read_jobs > 0) {
      shared_.stats.flushed_bytes_during_reads[static_cast<size_t>(reason)] += bytes;
    }
    Track(op->id, {.tier = tier, .stage = stage, .bytes = bytes, .issued = now}, now);
    return true;
  }
  return false;
}

void Stager::Track(OpId id, InFlight operation, TimePoint now) {
  Tier& self = tiers_[operation.tier];
  if (self.in_flight++ == 0) self.busy_since = now;
  if (in_flight_.size() == hung_) shared_.wake.memory = true;  // as for reads
  self.unlinking_bytes += operation.unlink.reserved_bytes;
  in_flight_.emplace(id, std::move(operation));
}

void Stager::Finish(OpId id, WriteResult result, TimePoint now) {
  const auto found = in_flight_.find(id);
  KVS_ASSERT(found != in_flight_.end());
  const InFlight operation = std::move(found->second);
  in_flight_.erase(found);
  Tier& self = tiers_[operation.tier];
  KVS_ASSERT(self.in_flight > 0);
  if (--self.in_flight == 0) self.busy += now - self.busy_since;
  if (operation.hung) --hung_;
  switch (operation.kind) {
    case WriteOp::Kind::kBlocks:
      return FinishBlocks(operation, result, now);
    case WriteOp::Kind::kPublish:
    case WriteOp::Kind::kAbandon:
      return FinishClose(operation, result, now);
    case WriteOp::Kind::kUnlink:
      return FinishUnlink(operation, result, now);
    case WriteOp::Kind::kProbe:
      shared_.wake.memory = true;  // the time of the next probe is new
      // A full tier answers: its copies must be evicted before it has room again.
      if (self.health.OnProbeDone(result.ok || IsFull(result), now)) {
        shared_.wake.write |= shared_.Bit(operation.tier);
      }
  }
}

void Stager::FinishBlocks(const InFlight& operation, WriteResult result, TimePoint now) {
  KVS_ASSERT(tiers_[operation.tier].in_flight_bytes >= operation.bytes);
  tiers_[operation.tier].in_flight_bytes -= operation.bytes;
  Copy& copy = staged_.at(operation.stage).copies[operation.tier];
  KVS_ASSERT(copy.in_flight > 0);
  --copy.in_flight;
  if (!result.ok) {
    DropCopy(operation.stage, operation.tier,
             IsFull(result) ? DropReason::kNoSpace : DropReason::kIoError);
  }
  OnTierOutcome(operation.tier, result, now);
}

void Stager::FinishClose(const InFlight& operation, WriteResult result, TimePoint now) {
  Staged& staged = staged_.at(operation.stage);
  Copy& copy = staged.copies[operation.tier];
  KVS_ASSERT(copy.state == CopyState::kClosing);
  std::erase(tiers_[operation.tier].active, operation.stage);
  const bool published = operation.kind == WriteOp::Kind::kPublish && result.ok;
  const uint64_t file_bytes = staged.meta->FileBytes();
  if (published && !staged.discarded && !copy.unwanted) {
    copy.state = CopyState::kDone;
    shared_.index.AddCopy(staged.slot, operation.tier, ChunkIndex::CopyKind::kWritten);
    ++shared_.stats.tiers[operation.tier].written_chunks;
    shared_.stats.tiers[operation.tier].written_bytes += staged.meta->payload_bytes;
  } else if (published) {
    // Replaced or removed while the rename was on its way: the file must go again.
    copy.state = CopyState::kDropped;
    shared_.QueueUnlink(operation.tier, {staged.meta, file_bytes});
  } else {
    copy.state = CopyState::kDropped;
    if (!copy.failed) {
      ++shared_.stats.tiers[operation.tier]
            .dropped_copies[static_cast<size_t>(DropReason::kIoError)];
    }
    if (result.temp_left) {
      shared_.QueueUnlink(operation.tier, {staged.meta, file_bytes, operation.stage});
    } else {
      shared_.index.ReleaseSpace(operation.tier, file_bytes);
    }
  }
  SettleIfDone(operation.stage);
  // That a failed copy could be removed does not make the tier a good one.
  if (operation.kind == WriteOp::Kind::kPublish || !result.ok) {
    OnTierOutcome(operation.tier, result, now);
  }
}

void Stager::FinishUnlink(const InFlight& operation, WriteResult result, TimePoint now) {
  Tier& self = tiers_[operation.tier];
  KVS_ASSERT(self.unlinking_bytes >= operation.unlink.reserved_bytes);
  self.unlinking_bytes -= operation.unlink.reserved_bytes;
  UnlinkQueue& unlinks = shared_.unlinks[operation.tier];
  if (result.ok) {
    unlinks.Done(operation.unlink);
    return shared_.index.ReleaseSpace(operation.tier, operation.unlink.reserved_bytes);
  }
  ++shared_.stats.tiers[operation.tier].io_errors;
  unlinks.Failed(operation.unlink, now + kUnlinkRetryInterval);
  shared_.wake.memory = true;  // the time of the retry is new
}

void Stager::OnTierOutcome(uint32_t tier, WriteResult result, TimePoint now) {
  if (result.ok) return tiers_[tier].health.OnSuccess();
  ++shared_.stats.tiers[tier].io_errors;
  if (IsFull(result)) return;
  if (!tiers_[tier].health.OnError(now)) return;
  shared_.wake.memory = true;  // the time of the probe is new
  DropCopiesOf(tier, DropReason::kTierDown);
}

void Stager::SetReady(uint32_t tier) {
  tiers_[tier].ready = true;
  EvictFor(tier, 0);  // the capacity may be smaller than in the last run
  shared_.wake.write |= shared_.Bit(tier);
}

void Stager::Tick(TimePoint now) {
  TierMask hung = 0;
  for (auto& [id, operation] : in_flight_) {
    if (operation.hung || now - operation.issued < shared_.options.hang_after) continue;
    operation.hung = true;
    ++hung_;
    hung |= shared_.Bit(operation.tier);
  }
  const auto drop_before = now - 2 * shared_.options.write.age_max;
  for (uint32_t tier = 0; tier < tiers_.size(); ++tier) {
    Tier& self = tiers_[tier];
    if ((hung & shared_.Bit(tier)) != 0 && self.health.OnHang(now)) {
      DropCopiesOf(tier, DropReason::kTierDown);
    }
    while (!self.queue.empty() && staged_.at(self.queue.front()).since <= drop_before) {
      const uint32_t stage = self.queue.front();
      DropCopy(stage, tier, DropReason::kAge);
      SettleIfDone(stage);
    }
    const bool work =
        !self.queue.empty() || !self.active.empty() || shared_.unlinks[tier].HasDue(now);
    if (self.health.ProbeDue(now) || (work && Gate(tier, now)))
      shared_.wake.write |= shared_.Bit(tier);
  }
}

TimePoint Stager::NextTick(TimePoint now) const {
  TimePoint next = kNoDeadline;
  for (const auto& [id, operation] : in_flight_) {
    if (!operation.hung) next = std::min(next, operation.issued + shared_.options.hang_after);
  }
  for (uint32_t tier = 0; tier < tiers_.size(); ++tier) {
    const Tier& self = tiers_[tier];
    next = std::min(next, NextAge(self, now));
    if (self.health.probe_at() > now) next = std::min(next, self.health.probe_at());
    const TimePoint retry_at = shared_.unlinks[tier].retry_at();
    if (retry_at > now) next = std::min(next, retry_at);
    const bool work =
        !self.queue.empty() || !self.active.empty() || shared_.unlinks[tier].HasDue(now);
    const bool reading = shared_.open_read_jobs > 0 || shared_.step_open;
    if (work && !reading && !forward_open_ && shared_.reads_idle_since != TimePoint::min()) {
      const TimePoint idle_at = shared_.reads_idle_since + shared_.options.write.idle_delay;
      if (idle_at > now) next = std::min(next, idle_at);
    }
  }
  return next;
}

/// When one of the tier's copies will be old enough to go out during reads, or too old to be begun.
TimePoint Stager::NextAge(const Tier& tier, TimePoint now) const {
  const auto age_max = shared_.options.write.age_max;
  TimePoint next = kNoDeadline;
  for (const uint32_t stage : tier.active) {
    const TimePoint flush_at = staged_.at(stage).since + age_max;
    if (flush_at > now) next = std::min(next, flush_at);
  }
  if (tier.queue.empty()) return next;
  const auto flush_at = [&](uint32_t stage) { return staged_.at(stage).since + age_max; };
  next = std::min(next, flush_at(tier.queue.front()) + age_max);
  const auto young = std::ranges::upper_bound(tier.queue, now, {}, flush_at);
  return young == tier.queue.end() ? next : std::min(next, flush_at(*young));
}

std::chrono::nanoseconds Stager::busy(uint32_t tier, TimePoint now) const {
  const Tier& self = tiers_[tier];
  return self.in_flight > 0 ? self.busy + (now - self.busy_since) : self.busy;
}

}  // namespace kvstream::core
