// Which piece a tier reads next, the endgame, and setting tiers aside.

#include <algorithm>
#include <bit>

#include "base/assert.h"
#include "core/read_scheduler.h"

namespace kvstream::core {
namespace {

/// How often an idle tier looks again whether a slower one has fallen behind.
constexpr auto kLateCheckInterval = std::chrono::milliseconds(2);

}  // namespace

bool ReadScheduler::NextOp(uint32_t tier, TimePoint now, ReadOp* op) {
  if (NextControlOp(tier, now, op)) return true;
  if (!tiers_[tier].health.up()) return false;
  return ClaimPiece(tier, now, op) || ClaimLate(tier, now, op);
}

bool ReadScheduler::NextControlOp(uint32_t tier, TimePoint now, ReadOp* op) {
  if (tiers_[tier].health.ProbeDue(now)) {
    tiers_[tier].health.OnProbeSent();
    *op = ReadOp{};
    op->kind = ReadOp::Kind::kProbe;
    op->id = shared_.next_op++;
    Track(op->id, {.kind = op->kind, .tier = tier, .issued = now}, now);
    return true;
  }
  const auto footer = std::ranges::find(footers_, tier, &Footer::tier);
  if (footer == footers_.end()) return false;
  *op = ReadOp{};
  op->kind = ReadOp::Kind::kFooter;
  op->id = shared_.next_op++;
  op->ns = footer->ns;
  op->key = footer->key;
  Track(op->id,
        {.kind = op->kind, .tier = tier, .issued = now, .footer_done = std::move(footer->done)},
        now);
  footers_.erase(footer);
  return true;
}

bool ReadScheduler::ClaimPiece(uint32_t tier, TimePoint now, ReadOp* op) {
  Tier& self = tiers_[tier];
  const uint64_t claimable = router_.claimable_bytes(tier);
  uint64_t allowance = self.pacer.Allowance(claimable, shared_.options.tier_count());
  if (claimable == 0 || allowance == 0) return false;
  // A piece that must bounce has to fit the tier's share of engine memory.
  allowance = std::min(allowance, self.bounce_blocks * shared_.options.block_bytes);
  if (MayOvertake() && LeaveToOthers(tier, std::min(allowance, claimable))) return false;
  route::Claim claim;
  if (!router_.ClaimNext(tier, allowance, &claim)) return false;
  const Chunk& chunk = ChunkOf(claim);
  const bool has_tail = claim.first_block + claim.block_count == chunk.meta->block_count &&
                        chunk.meta->payload_bytes % chunk::kAlignBytes != 0;
  const bool must_bounce = shared_.options.tiers[tier].bounce || !chunk.aligned || has_tail;
  const bool fits = claim.block_count <= self.bounce_blocks_free;
  if (must_bounce && !fits) {
    router_.Return(claim, chunk.holders);
    return false;
  }
  WakeForEndgame();
  Issue(tier, claim, must_bounce || (fits && NearEnd(tier)), now, op);
  return true;
}

/// Endgame: re-reads the piece in flight on another tier that would arrive last, if it would be
/// sooner.
bool ReadScheduler::ClaimLate(uint32_t tier, TimePoint now, ReadOp* op) {
  Tier& self = tiers_[tier];
  if (!MayOvertake() || router_.claimable_bytes(tier) > 0) return false;
  if (self.pacer.bytes_per_second() <= 0) return false;
  InFlight* latest = nullptr;
  double latest_seconds = 0;
  for (auto& [id, operation] : in_flight_) {
    if (operation.tier == tier || operation.twin || !CanOvertake(operation)) continue;
    if ((ChunkOf(operation.claim).holders & shared_.Bit(tier)) == 0) continue;
    const double seconds = SecondsUntilDone(id, operation, now);
    if (seconds <= self.pacer.SecondsFor(operation.claim.bytes) || seconds <= latest_seconds)
      continue;
    latest = &operation;
    latest_seconds = seconds;
  }
  if (latest == nullptr || latest->claim.block_count > self.bounce_blocks_free) return false;
  if (self.pacer.Allowance(latest->claim.bytes, 1) == 0) return false;
  latest->twin = true;
  const route::Claim claim = latest->claim;  // Issue may rehash the table
  Issue(tier, claim, /*bounce=*/true, now, op);
  in_flight_.at(op->id).twin = true;
  return true;
}

/// The endgame's ticks begin when the last unread piece has gone.
void ReadScheduler::WakeForEndgame() {
  if (router_.unread_bytes() == 0) shared_.wake.memory = true;
}

bool ReadScheduler::CanOvertake(const InFlight& operation) {
  return operation.kind == ReadOp::Kind::kBlocks && operation.bounce && !operation.orphan &&
         !operation.landing;
}

/// By the owner's recent rate, which serves in order of issue; a read already later than that is
/// expected to take as long again.
double ReadScheduler::SecondsUntilDone(OpId id, const InFlight& operation, TimePoint now) const {
  uint64_t bytes_ahead = 0;
  for (const auto& [other_id, other] : in_flight_) {
    if (other.tier == operation.tier && other_id <= id) bytes_ahead += other.claim.bytes;
  }
  const double age = std::chrono::duration<double>(now - operation.issued).count();
  const double rate = tiers_[operation.tier].pacer.bytes_per_second();
  const double expected = rate > 0 ? static_cast<double>(bytes_ahead) / rate : age;
  return std::max(expected, age > 2 * expected ? age : 0.0);
}

bool ReadScheduler::MayOvertake() const {
  return routing_.policy == Policy::kMeetInMiddle && routing_.claim_chunks == 0 &&
         tiers_.size() > 1;
}

bool ReadScheduler::LeaveToOthers(uint32_t tier, uint64_t piece_bytes) const {
  const TierMask readers = router_.NextReaders(tier);
  for (uint32_t other = 0; other < tiers_.size(); ++other) {
    if (other == tier || (readers & shared_.Bit(other)) == 0) continue;
    const uint64_t left = router_.claimable_bytes(other);
    if (route::Declines(tiers_[tier].pacer, piece_bytes, tiers_[other].pacer, left)) return true;
  }
  return false;
}

/// The last windows of the pool land in engine memory, so that a faster tier can overtake them.
bool ReadScheduler::NearEnd(uint32_t tier) const {
  if (!MayOvertake() || std::popcount(usable()) < 2) return false;
  uint64_t windows = 0;
  for (const Tier& each : tiers_) windows += each.pacer.window_bytes();
  return router_.claimable_bytes(tier) < windows;
}

void ReadScheduler::Issue(uint32_t tier, const route::Claim& claim, bool bounce, TimePoint now,
                          ReadOp* op) {
  Chunk& chunk = ChunkOf(claim);
  Tier& self = tiers_[tier];
  if (bounce) {
    KVS_ASSERT(self.bounce_blocks_free >= claim.block_count);
    self.bounce_blocks_free -= claim.block_count;
  } else {
    ++chunk.touching;
  }
  *op = ReadOp{};
  op->id = shared_.next_op++;
  op->meta = chunk.meta;
  op->first_block = claim.first_block;
  op->block_count = claim.block_count;
  op->bounce = bounce;
  op->segments = &chunk.segments;
  self.pacer.OnClaim(claim.bytes, now);
  Track(op->id, {.tier = tier, .claim = claim, .issued = now, .bounce = bounce}, now);
}

void ReadScheduler::Track(OpId id, InFlight operation, TimePoint now) {
  Tier& tier = tiers_[operation.tier];
  if (tier.in_flight++ == 0) tier.busy_since = now;
  // Whoever keeps the time has to look whether it comes back; later ones are due later.
  if (in_flight_.size() == hung_) shared_.wake.memory = true;
  in_flight_.emplace(id, std::move(operation));
}

void ReadScheduler::Untrack(const InFlight& operation, TimePoint now) {
  Tier& tier = tiers_[operation.tier];
  KVS_ASSERT(tier.in_flight > 0);
  if (--tier.in_flight == 0) tier.busy += now - tier.busy_since;
  if (operation.hung) --hung_;
}

void ReadScheduler::OnTierOutcome(uint32_t tier, const ReadResult& result, TimePoint now) {
  if (result.outcome != ReadOutcome::kFailed) return tiers_[tier].health.OnSuccess();
  ++shared_.stats.tiers[tier].io_errors;
  if (tiers_[tier].health.OnError(now)) SetAside(tier);
}

/// Stops claiming from a tier, and takes back what it has in flight in engine memory.
void ReadScheduler::SetAside(uint32_t tier) {
  shared_.wake.memory = true;  // the time of the probe is new
  RefreshUsable();
  std::vector<route::Claim> taken;
  for (auto& [id, operation] : in_flight_) {
    if (operation.tier != tier || !CanOvertake(operation)) continue;
    operation.orphan = true;
    taken.push_back(operation.claim);
  }
  AnswerFooters(shared_.Bit(tier));
  for (const route::Claim& claim : taken) {
    const auto job = jobs_.find(claim.job);
    if (job == jobs_.end()) continue;
    Chunk& chunk = job->second.chunks[claim.item];
    if (chunk.done || chunk.miss != MissReason::kNone || chunk.restart) continue;
    if (!CoveredElsewhere(claim, chunk)) GiveUpBlocks(claim, chunk);
  }
}

TierMask ReadScheduler::usable() const {
  TierMask mask = 0;
  for (uint32_t tier = 0; tier < tiers_.size(); ++tier) {
    if (tiers_[tier].health.up()) mask |= shared_.Bit(tier);
  }
  return mask;
}

void ReadScheduler::RefreshUsable() {
  router_.SetUsableTiers(usable());
  DropStranded();
  WakeReaders(usable());
}

void ReadScheduler::DropStranded() {
  for (const route::Claim& claim : router_.TakeStranded()) {
    if (jobs_.contains(claim.job)) Miss(claim.job, claim.item, MissReason::kLost);
  }
}

void ReadScheduler::Tick(TimePoint now) {
  std::vector<JobId> late;
  for (const auto& [id, job] : jobs_) {
    if (job.deadline <= now) late.push_back(id);
  }
  for (const JobId id : late) Cancel(id, MissReason::kDeadline);
  TierMask hung = 0;
  for (auto& [id, operation] : in_flight_) {
    if (operation.hung || now - operation.issued < shared_.options.hang_after) continue;
    operation.hung = true;
    ++hung_;
    // What may never come back must not fill the window of the tier when it is up again.
    if (operation.kind == ReadOp::Kind::kBlocks) {
      tiers_[operation.tier].pacer.OnDone(operation.claim.bytes, false, now);
    }
    hung |= shared_.Bit(operation.tier);
  }
  for (uint32_t tier = 0; tier < tiers_.size(); ++tier) {
    if ((hung & shared_.Bit(tier)) != 0 && tiers_[tier].health.OnHang(now)) SetAside(tier);
    if (tiers_[tier].health.ProbeDue(now)) WakeReaders(shared_.Bit(tier));
  }
  if (EndgameRuns()) WakeReaders(usable());
}

/// Nothing is unread, and something in flight could still be overtaken.
bool ReadScheduler::EndgameRuns() const {
  if (!MayOvertake() || jobs_.empty() || router_.unread_bytes() > 0) return false;
  return std::ranges::any_of(in_flight_, [](const auto& entry) {
    return CanOvertake(entry.second) && !entry.second.twin;
  });
}

/// Tells discovering lookups that these tiers have nothing for them, rather than let them wait.
void ReadScheduler::AnswerFooters(TierMask tiers) {
  std::vector<FooterCallback> waiting;
  std::erase_if(footers_, [&](Footer& footer) {
    if ((tiers & shared_.Bit(footer.tier)) == 0) return false;
    waiting.push_back(std::move(footer.done));
    return true;
  });
  for (auto& [id, operation] : in_flight_) {
    if (operation.kind != ReadOp::Kind::kFooter || operation.orphan) continue;
    if ((tiers & shared_.Bit(operation.tier)) == 0) continue;
    operation.orphan = true;
    waiting.push_back(std::move(operation.footer_done));
  }
  for (const FooterCallback& done : waiting) done(chunk::MetaRef());
}

TimePoint ReadScheduler::NextTick(TimePoint now) const {
  TimePoint next = kNoDeadline;
  for (const auto& [id, job] : jobs_) {
    // What is late already waits only for the kernel to let go of the caller's memory.
    if (job.deadline > now) next = std::min(next, job.deadline);
  }
  for (const auto& [id, operation] : in_flight_) {
    if (!operation.hung) next = std::min(next, operation.issued + shared_.options.hang_after);
  }
  for (const Tier& tier : tiers_) {
    // A probe that is due waits for its lane, however long that hangs.
    if (tier.health.probe_at() > now) next = std::min(next, tier.health.probe_at());
  }
  return EndgameRuns() ? std::min(next, now + kLateCheckInterval) : next;
}

Status ReadScheduler::SetRouting(const RoutingOptions& routing) {
  if (!jobs_.empty()) return Error(ErrorCode::kBusy, "routing cannot change while reads are open");
  routing_ = routing;
  router_ = route::Router(routing_, shared_.options.tier_count());
  router_.SetUsableTiers(usable());
  for (uint32_t tier = 0; tier < tiers_.size(); ++tier) {
    tiers_[tier].pacer.SetClaimChunks(routing.claim_chunks);
  }
  return {};
}

uint64_t ReadScheduler::quarantined_bytes(uint32_t tier) const {
  uint64_t bytes = 0;
  for (const auto& [id, operation] : in_flight_) {
    if (operation.tier == tier && operation.orphan && operation.hung)
      bytes += operation.claim.bytes;
  }
  return bytes;
}

std::chrono::nanoseconds ReadScheduler::busy(uint32_t tier, TimePoint now) const {
  const Tier& self = tiers_[tier];
  return self.in_flight > 0 ? self.busy + (now - self.busy_since) : self.busy;
}

std::vector<UnreleasedBuffer> ReadScheduler::Unreleased() const {
  std::vector<UnreleasedBuffer> buffers;
  for (const auto& [id, copy] : memory_copies_) buffers.push_back({copy.job, copy.item, "memory"});
  for (const auto& [id, operation] : in_flight_) {
    if (operation.kind != ReadOp::Kind::kBlocks || operation.orphan) continue;
    if (operation.bounce && !operation.landing) continue;
    buffers.push_back(
        {operation.claim.job, operation.claim.item, shared_.options.tiers[operation.tier].name});
  }
  return buffers;
}

void ReadScheduler::QueueFooter(uint32_t tier, NamespaceId ns, const ChunkKey& key,
                                FooterCallback done) {
  footers_.push_back({tier, ns, key, std::move(done)});
  WakeReaders(shared_.Bit(tier));
}

}  // namespace kvstream::core
