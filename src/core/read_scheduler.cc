#include "core/read_scheduler.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"

namespace kvstream::core {
namespace {

/// A chunk whose file keeps being replaced under the reader is given up after this many starts.
constexpr uint32_t kRestartsMax = 2;

bool IsAligned(const Segments& segments) {
  return std::ranges::all_of(segments, [](const std::span<std::byte>& segment) {
    return reinterpret_cast<uintptr_t>(segment.data()) % chunk::kAlignBytes == 0 &&
           segment.size() % chunk::kAlignBytes == 0;
  });
}

uint64_t TotalBytes(const Segments& segments) {
  uint64_t bytes = 0;
  for (const auto& segment : segments) bytes += segment.size();
  return bytes;
}

route::ClaimPacer::Options PacerOptions(const CoreOptions& options, const RoutingOptions& routing,
                                        uint32_t tier) {
  route::ClaimPacer::Options pacer;
  pacer.chunks = routing.claim_chunks;
  pacer.piece_bytes_min = options.block_bytes;
  pacer.piece_bytes_max = uint64_t{4} * options.block_bytes;
  pacer.window_bytes_min = uint64_t{8} * options.block_bytes;
  pacer.window_bytes_max = options.tiers[tier].window_bytes_max;
  return pacer;
}

}  // namespace

ReadScheduler::ReadScheduler(SharedState& shared, StageLender& lender)
    : shared_(shared),
      lender_(lender),
      routing_(shared.options.routing),
      router_(routing_, shared.options.tier_count()) {
  const CoreOptions& options = shared.options;
  const uint64_t bounce_blocks = options.bounce_blocks / options.tier_count();
  KVS_ASSERT(bounce_blocks >= 4);
  for (uint32_t tier = 0; tier < options.tier_count(); ++tier) {
    tiers_.push_back({route::ClaimPacer(PacerOptions(options, routing_, tier)),
                      TierHealth({}),
                      bounce_blocks,
                      bounce_blocks,
                      0,
                      {},
                      {}});
  }
}

void ReadScheduler::Submit(JobId id, NamespaceId ns, std::vector<ReadRequest> items,
                           TimePoint deadline, TimePoint now) {
  Job& job = jobs_[id];
  job.deadline = deadline;
  job.chunks.resize(items.size());
  job.chunks_open = static_cast<uint32_t>(items.size());
  ++shared_.open_read_jobs;
  ++shared_.stats.read_jobs;
  std::vector<route::PoolChunk> pool;
  for (uint32_t item = 0; item < items.size(); ++item) {
    job.chunks[item].segments = std::move(items[item].segments);
    StartChunk(id, job, item, &pool, shared_.index.Find(ns, items[item].key));
  }
  // The head of a prefix is touched last, so that its tail is evicted first.
  for (auto chunk = job.chunks.rbegin(); chunk != job.chunks.rend(); ++chunk) {
    if (chunk->slot != kNoSlot) shared_.index.Touch(chunk->slot);
  }
  router_.AddJob(id, pool);
  DropStranded();
  WakeReaders(shared_.all_tiers());
  for (uint32_t item = 0; item < items.size(); ++item) {
    if (jobs_.contains(id)) Settle(id, item);
  }
  if (items.empty()) FinishJobIfDone(id);
  if (deadline <= now) Cancel(id, MissReason::kDeadline);
}

void ReadScheduler::StartChunk(JobId id, Job& job, uint32_t item,
                               std::vector<route::PoolChunk>* pool, Slot slot) {
  Chunk& chunk = job.chunks[item];
  if (slot == kNoSlot || !shared_.index.entry(slot).readable()) {
    chunk.miss = MissReason::kUnknown;
    return;
  }
  const ChunkIndex::Entry& entry = shared_.index.entry(slot);
  if (TotalBytes(chunk.segments) != entry.meta->payload_bytes) {
    chunk.miss = MissReason::kLength;
    return;
  }
  shared_.index.Pin(slot);
  chunk.slot = slot;
  chunk.meta = entry.meta;
  chunk.holders = entry.holders;
  chunk.blocks_left = chunk.meta->block_count;
  chunk.landed.assign(chunk.meta->block_count, false);
  chunk.aligned = IsAligned(chunk.segments);
  if (entry.stage != 0) {
    ++chunk.touching;
    memory_copies_[shared_.next_op++] = {id, item, lender_.Lend(entry.stage)};
    shared_.wake.memory = true;
    return;
  }
  pool->push_back({item, chunk.meta->block_count, chunk.meta->block_bytes,
                   chunk.meta->payload_bytes, chunk.holders,
                   chunk::ChunkKeyHash{}(chunk.meta->key)});
}

void ReadScheduler::Cancel(JobId id, MissReason reason) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return;
  router_.RemoveJob(id);  // all unread pieces at once
  const auto count = static_cast<uint32_t>(found->second.chunks.size());
  for (uint32_t item = 0; item < count; ++item) {
    if (!jobs_.contains(id)) return;
    Miss(id, item, reason);
  }
}

void ReadScheduler::CancelAll(MissReason reason) {
  std::vector<JobId> ids;
  for (const auto& [id, job] : jobs_) ids.push_back(id);
  for (const JobId id : ids) Cancel(id, reason);
  AnswerFooters(shared_.all_tiers());
}

void ReadScheduler::Miss(JobId id, uint32_t item, MissReason reason) {
  Chunk& chunk = jobs_.at(id).chunks[item];
  if (chunk.done || chunk.miss != MissReason::kNone) return;
  if (chunk.blocks_left == 0) return;  // complete; its event is only waiting for this call to end
  chunk.miss = reason;
  chunk.restart = false;
  if (reason == MissReason::kDeadline) ++shared_.stats.deadline_missed_chunks;
  router_.RemoveChunk(id, item);
  WakeForEndgame();
  OrphanBounced(id, item);
  Settle(id, item);
}

void ReadScheduler::OrphanBounced(JobId id, uint32_t item) {
  for (auto& [op, operation] : in_flight_) {
    if (!CanOvertake(operation)) continue;
    if (operation.claim.job == id && operation.claim.item == item) operation.orphan = true;
  }
}

/// Ends the chunk if nothing can touch its memory and its fate is known.
void ReadScheduler::Settle(JobId id, uint32_t item) {
  Job& job = jobs_.at(id);
  Chunk& chunk = job.chunks[item];
  const bool complete = chunk.slot != kNoSlot && chunk.blocks_left == 0;
  if (chunk.done || chunk.touching > 0) return;
  if (chunk.restart) return RestartChunk(id, item);
  if (!complete && chunk.miss == MissReason::kNone) return;
  chunk.done = true;
  if (complete) OrphanBounced(id, item);
  const uint64_t bytes = complete ? chunk.meta->payload_bytes : 0;
  job.bytes += bytes;
  job.chunks_missed += complete ? 0 : 1;
  shared_.stats.hit_chunks += complete ? 1 : 0;
  shared_.stats.miss_chunks += complete ? 0 : 1;
  shared_.stats.hit_bytes += bytes;
  for (uint32_t tier = 0; tier < tiers_.size(); ++tier) {
    if ((chunk.delivered_by >> tier & 1) != 0) ++shared_.stats.tiers[tier].read_chunks;
  }
  shared_.events.push_back({Event::Kind::kChunkRead, complete,
                            complete ? MissReason::kNone : chunk.miss, chunk.delivered_by, item, id,
                            bytes});
  if (chunk.slot != kNoSlot) shared_.index.Unpin(chunk.slot);
  --job.chunks_open;
  FinishJobIfDone(id);
}

void ReadScheduler::FinishJobIfDone(JobId id) {
  const Job& job = jobs_.at(id);
  if (job.chunks_open > 0) return;
  shared_.events.push_back(
      {Event::Kind::kReadDone, job.chunks_missed == 0, MissReason::kNone, 0, 0, id, job.bytes});
  router_.RemoveJob(id);
  jobs_.erase(id);
  --shared_.open_read_jobs;
  if (shared_.open_read_jobs > 0) return;
  shared_.reads_idle_since = shared_.now;
  shared_.step_open = false;
  shared_.wake.memory = true;  // the idle delay starts
}

/// The file was replaced while it was read: once more, with the version the index has now.
void ReadScheduler::RestartChunk(JobId id, uint32_t item) {
  Chunk& chunk = jobs_.at(id).chunks[item];
  const ChunkIndex::Entry& entry = shared_.index.entry(chunk.slot);
  chunk.restart = false;
  const bool usable_version = entry.holders != 0 &&
                              entry.meta->payload_bytes == chunk.meta->payload_bytes &&
                              entry.meta->block_bytes == chunk.meta->block_bytes;
  if (!usable_version || ++chunk.restarts > kRestartsMax) return Miss(id, item, MissReason::kLost);
  chunk.meta = entry.meta;
  chunk.holders = entry.holders;
  chunk.delivered_by = 0;
  chunk.blocks_left = chunk.meta->block_count;
  chunk.landed.assign(chunk.meta->block_count, false);
  router_.Return({id, item, 0, chunk.meta->block_count, chunk.meta->payload_bytes}, chunk.holders);
  DropStranded();
  WakeReaders(chunk.holders);
}

const Segments* ReadScheduler::BeginLanding(OpId id) {
  InFlight& operation = in_flight_.at(id);
  KVS_ASSERT(operation.bounce && !operation.landing);
  if (operation.orphan) return nullptr;
  Chunk& chunk = ChunkOf(operation.claim);
  const auto first = chunk.landed.begin() + operation.claim.first_block;
  // A twin has landed or is landing: one of the two is enough, and two would race.
  if (std::find(first, first + operation.claim.block_count, true) !=
      first + operation.claim.block_count) {
    return nullptr;
  }
  std::fill(first, first + operation.claim.block_count, true);
  operation.landing = true;
  ++chunk.touching;
  return &chunk.segments;
}

void ReadScheduler::Finish(OpId id, ReadResult result, TimePoint now) {
  const auto found = in_flight_.find(id);
  KVS_ASSERT(found != in_flight_.end());
  const InFlight operation = std::move(found->second);
  in_flight_.erase(found);
  Untrack(operation, now);
  Tier& tier = tiers_[operation.tier];
  if (operation.kind == ReadOp::Kind::kProbe) {
    shared_.wake.memory = true;  // the time of the next probe is new
    if (tier.health.OnProbeDone(result.outcome == ReadOutcome::kFound, now)) {
      tier.pacer.Restart();
      RefreshUsable();
    }
    return;
  }
  if (operation.kind == ReadOp::Kind::kFooter) {
    if (operation.orphan) return;  // answered when its tier was set aside
    operation.footer_done(result.outcome == ReadOutcome::kFound ? result.found : chunk::MetaRef());
  } else {
    FinishBlocks(operation, result, now);
  }
  // Last, since setting the tier aside can end the operation's job.
  OnTierOutcome(operation.tier, result, now);
}

void ReadScheduler::FinishBlocks(const InFlight& operation, const ReadResult& result,
                                 TimePoint now) {
  Tier& tier = tiers_[operation.tier];
  const bool verified =
      result.outcome == ReadOutcome::kDelivered || result.outcome == ReadOutcome::kOvertaken;
  if (!operation.hung) tier.pacer.OnDone(operation.claim.bytes, verified, now);
  if (operation.bounce) tier.bounce_blocks_free += operation.claim.block_count;
  if (verified) shared_.stats.tiers[operation.tier].read_bytes += operation.claim.bytes;
  if (result.outcome == ReadOutcome::kOvertaken && operation.twin) {
    shared_.stats.bytes_read_twice += operation.claim.bytes;
  }
  if (operation.orphan) return;
  Chunk& chunk = ChunkOf(operation.claim);
  if (!operation.bounce || operation.landing) --chunk.touching;
  if (result.outcome == ReadOutcome::kDelivered) {
    Landed(operation, chunk);
  } else if (!verified) {
    FailOver(operation, chunk, result);
  }
  if (jobs_.contains(operation.claim.job)) Settle(operation.claim.job, operation.claim.item);
}

void ReadScheduler::Landed(const InFlight& operation, Chunk& chunk) {
  const auto first = chunk.landed.begin() + operation.claim.first_block;
  if (!operation.bounce) std::fill(first, first + operation.claim.block_count, true);
  chunk.delivered_by |= shared_.Bit(operation.tier);
  KVS_ASSERT(chunk.blocks_left >= operation.claim.block_count);
  chunk.blocks_left -= operation.claim.block_count;
}

void ReadScheduler::FailOver(const InFlight& operation, Chunk& chunk, const ReadResult& result) {
  HandleBadCopy(operation, chunk, result);
  chunk.holders &= static_cast<TierMask>(~shared_.Bit(operation.tier));
  if (chunk.done || chunk.miss != MissReason::kNone || chunk.restart) return;
  KVS_ASSERT(!operation.landing);
  if (CoveredElsewhere(operation.claim, chunk)) return;
  if ((chunk.holders & usable()) == 0 && result.outcome == ReadOutcome::kReplaced) {
    chunk.restart = true;
    router_.RemoveChunk(operation.claim.job, operation.claim.item);
    OrphanBounced(operation.claim.job, operation.claim.item);
    return;
  }
  GiveUpBlocks(operation.claim, chunk);
}

/// Whether a twin of an operation that has ended has delivered its blocks, or still may.
bool ReadScheduler::CoveredElsewhere(const route::Claim& claim, const Chunk& chunk) const {
  const auto first = chunk.landed.begin() + claim.first_block;
  if (std::find(first, first + claim.block_count, true) != first + claim.block_count) return true;
  return std::ranges::any_of(in_flight_, [&](const auto& entry) {
    const InFlight& other = entry.second;
    return other.kind == ReadOp::Kind::kBlocks && !other.orphan && other.claim.job == claim.job &&
           other.claim.item == claim.item && other.claim.first_block == claim.first_block;
  });
}

/// Puts the blocks back for another tier; without one the chunk is lost.
void ReadScheduler::GiveUpBlocks(const route::Claim& claim, Chunk& chunk) {
  if ((chunk.holders & usable()) == 0) return Miss(claim.job, claim.item, MissReason::kLost);
  router_.Return(claim, chunk.holders);
  WakeReaders(chunk.holders);
}

void ReadScheduler::HandleBadCopy(const InFlight& operation, const Chunk& chunk,
                                  const ReadResult& result) {
  TierStats& stats = shared_.stats.tiers[operation.tier];
  const ReadOutcome outcome = result.outcome;
  if (outcome == ReadOutcome::kFailed) return;  // the file system's fault; the copy may be good
  stats.short_reads += outcome == ReadOutcome::kShort ? 1 : 0;
  stats.corrupt_blocks += outcome == ReadOutcome::kCorrupt ? 1 : 0;
  stats.stale_copies +=
      outcome == ReadOutcome::kMissing || outcome == ReadOutcome::kReplaced ? 1 : 0;
  const Slot slot = chunk.slot;
  const ChunkIndex::Entry& entry = shared_.index.entry(slot);
  if (entry.meta->write_id != chunk.meta->write_id) return;  // the index has moved on already
  const bool gone = outcome == ReadOutcome::kMissing || outcome == ReadOutcome::kReplaced;
  if ((entry.holders & shared_.Bit(operation.tier)) != 0) {
    gone ? shared_.ForgetCopy(slot, operation.tier) : shared_.DropCopy(slot, operation.tier);
  }
  if (outcome != ReadOutcome::kReplaced || entry.stage != 0) return;
  if (result.found->generation_ns <= entry.meta->generation_ns) return;
  // Another owner has put newer bytes under this key: the older copies must not be served any more.
  shared_.DropCopies(slot, shared_.all_tiers());
  shared_.index.SetVersion(result.found);
  shared_.index.AddCopy(slot, operation.tier, ChunkIndex::CopyKind::kForeign);
}

bool ReadScheduler::NextMemoryOp(MemoryOp* op) {
  for (auto& [id, copy] : memory_copies_) {
    if (copy.issued) continue;
    copy.issued = true;
    *op = {MemoryOp::Kind::kCopyOut, id,
           copy.source.meta,         copy.source.blocks,
           copy.source.segments,     &jobs_.at(copy.job).chunks[copy.item].segments};
    return true;
  }
  return false;
}

void ReadScheduler::FinishMemoryOp(OpId id, bool intact) {
  const auto found = memory_copies_.find(id);
  KVS_ASSERT(found != memory_copies_.end());
  const MemoryCopy copy = std::move(found->second);
  memory_copies_.erase(found);
  Chunk& chunk = jobs_.at(copy.job).chunks[copy.item];
  --chunk.touching;
  if (intact) {
    chunk.blocks_left = 0;
    shared_.stats.staged_hit_bytes += chunk.meta->payload_bytes;
  } else if (chunk.miss == MissReason::kNone) {
    chunk.miss = MissReason::kLost;
  }
  lender_.GiveBack(copy.source.stage);
  Settle(copy.job, copy.item);
}

}  // namespace kvstream::core
