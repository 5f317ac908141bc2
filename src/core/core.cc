#include "core/core.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "base/assert.h"

namespace kvstream::core {
namespace {

/// A million found chunks are a million cache misses in the index's table, one after the other,
/// unless the next ones are under way.
constexpr size_t kPrefetchAhead = 16;

}  // namespace

Core::Core(const CoreOptions& options)
    : shared_(options),
      random_(options.seed),
      stager_(shared_),
      reads_(shared_, stager_),
      superseded_(options.tiers.size()) {}

void Core::Lookup(NamespaceId ns, std::span<const ChunkKey> keys,
                  std::span<LookupResult> results) const {
  KVS_ASSERT(keys.size() == results.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    results[i] = {};
    const Slot slot = shared_.index.Find(ns, keys[i]);
    if (slot == kNoSlot) continue;
    const ChunkIndex::Entry& entry = shared_.index.entry(slot);
    if (!entry.readable()) continue;
    results[i] = {entry.meta->payload_bytes, entry.holders, entry.stage != 0};
  }
}

LeaseId Core::Lease(NamespaceId ns, std::span<const ChunkKey> keys, TimePoint now) {
  Pinned pinned;
  for (const ChunkKey& key : keys) {
    const Slot slot = shared_.index.Find(ns, key);
    if (slot == kNoSlot || !shared_.index.entry(slot).readable()) continue;
    shared_.index.Pin(slot);
    pinned.slots.push_back(slot);
  }
  if (pinned.slots.empty()) return 0;
  pinned.expires = now + shared_.options.lease_ttl;
  leases_[next_lease_] = std::move(pinned);
  shared_.wake.memory = true;  // its ticks must know the expiry
  return next_lease_++;
}

JobId Core::LookupAsync(NamespaceId ns, std::vector<ChunkKey> keys, bool discover, bool lease,
                        TimePoint now) {
  shared_.now = now;
  const JobId id = next_job_++;
  LookupJob& job = lookups_[id];
  job.ns = ns;
  job.keys = std::move(keys);
  job.lease = lease;
  for (const ChunkKey& key : job.keys) {
    const Slot slot = shared_.index.Find(ns, key);
    if (!discover || (slot != kNoSlot && shared_.index.entry(slot).readable())) continue;
    for (uint32_t tier = 0; tier < shared_.options.tier_count(); ++tier) {
      if (!shared_.options.tiers[tier].shared || !reads_.up(tier)) continue;
      ++job.waiting;
      reads_.QueueFooter(tier, ns, key, [this, id, tier](chunk::MetaRef found) {
        FooterFound(id, tier, std::move(found));
      });
    }
  }
  if (job.waiting == 0) FinishLookup(id);
  return id;
}

void Core::FooterFound(JobId id, uint32_t tier, chunk::MetaRef found) {
  if (found) AddOne(tier, {std::move(found), false});
  LookupJob& job = lookups_.at(id);
  if (--job.waiting == 0) FinishLookup(id);
}

void Core::FinishLookup(JobId id) {
  LookupJob& job = lookups_.at(id);
  job.outcome.results.resize(job.keys.size());
  Lookup(job.ns, job.keys, job.outcome.results);
  if (job.lease) job.outcome.lease = Lease(job.ns, job.keys, shared_.now);
  job.done = true;
  const bool all = std::ranges::all_of(job.outcome.results, &LookupResult::hit);
  shared_.events.push_back({Event::Kind::kLookupDone, all, MissReason::kNone, 0, 0, id, 0});
}

std::optional<Engine::LookupOutcome> Core::TakeLookup(JobId id) {
  const auto found = lookups_.find(id);
  if (found == lookups_.end() || !found->second.done) return std::nullopt;
  Engine::LookupOutcome outcome = std::move(found->second.outcome);
  lookups_.erase(found);
  return outcome;
}

void Core::Release(LeaseId lease) {
  const auto found = leases_.find(lease);
  if (found == leases_.end()) return;
  for (const Slot slot : found->second.slots) shared_.index.Unpin(slot);
  leases_.erase(found);
}

void Core::Touch(NamespaceId ns, std::span<const ChunkKey> keys) {
  // The tail of a prefix is evicted before its head, so the head is touched last.
  for (auto key = keys.rbegin(); key != keys.rend(); ++key) {
    const Slot slot = shared_.index.Find(ns, *key);
    if (slot != kNoSlot) shared_.index.Touch(slot);
  }
}

void Core::Remove(NamespaceId ns, std::span<const ChunkKey> keys, TierMask tiers, TimePoint now) {
  shared_.now = now;
  if (closed_) return;
  for (const ChunkKey& key : keys) {
    Supersede({ns, key}, tiers);
    const Slot slot = shared_.index.Find(ns, key);
    if (slot == kNoSlot) continue;
    shared_.index.Pin(slot);
    const uint32_t stage = shared_.index.entry(slot).stage;
    const bool all = (tiers & shared_.all_tiers()) == shared_.all_tiers();
    if (stage != 0 && all) stager_.Discard(stage, DropReason::kReplaced);
    if (stage != 0 && !all) stager_.DiscardOn(stage, tiers);
    shared_.DropCopies(slot, tiers);
    shared_.index.Unpin(slot);
  }
}

JobId Core::Read(NamespaceId ns, std::vector<ReadRequest> items, TimePoint deadline, LeaseId lease,
                 TimePoint now) {
  shared_.now = now;
  const JobId id = next_job_++;
  stager_.ReadsBegan();
  reads_.Submit(id, ns, std::move(items), deadline, now);
  // An open job pins its chunks itself, so the lease has done its work.
  Release(lease);
  shared_.wake.memory = true;  // the deadline is new to its ticks
  if (closed_) reads_.Cancel(id, MissReason::kShutdown);
  return id;
}

void Core::Cancel(JobId job, TimePoint now) {
  shared_.now = now;
  reads_.Cancel(job, MissReason::kCancelled);
}

JobId Core::BeginWrite(uint32_t items, TimePoint now) {
  shared_.now = now;
  const JobId id = next_job_++;
  stager_.BeginJob(id, items);
  return id;
}

Admission Core::Admit(const WriteRequest& request, TimePoint now) {
  shared_.now = now;
  if (closed_) return {WriteAccept::kDropped, 0};
  return stager_.Admit(request);
}

void Core::SettleUnstaged(JobId job, uint32_t item, WriteAccept accept, NamespaceId ns,
                          const ChunkKey& key, TimePoint now) {
  shared_.now = now;
  KVS_ASSERT(accept != WriteAccept::kStaged);
  if (accept == WriteAccept::kDropped) {
    ++shared_.stats.dropped_chunks[static_cast<size_t>(DropReason::kStageFull)];
    return stager_.SettleNow(job, item, false, 0, 0);
  }
  LookupResult present;
  Lookup(ns, {&key, 1}, {&present, 1});
  stager_.SettleNow(job, item, true, present.tiers, present.bytes);
}

chunk::MetaRef Core::NewMeta(NamespaceId ns, const ChunkKey& key, uint64_t bytes,
                             uint64_t wall_ns) {
  chunk::MetaRef meta = chunk::MetaRef::Create(ns, key, bytes, shared_.options.block_bytes);
  meta.mutable_meta().write_id = random_.Next();
  // A later put of the same key must win at a scan even if the wall clock stood still.
  const Slot slot = shared_.index.Find(ns, key);
  const uint64_t last = slot == kNoSlot ? 0 : shared_.index.entry(slot).meta->generation_ns;
  meta.mutable_meta().generation_ns = std::max(wall_ns, last + 1);
  return meta;
}

void Core::Commit(uint32_t stage, chunk::MetaRef meta, std::vector<std::byte*> blocks,
                  ConstSegments segments, bool replace, TimePoint now) {
  shared_.now = now;
  const ChunkName name{meta->ns, meta->key};
  const uint64_t write_id = meta->write_id;
  stager_.Commit(stage, std::move(meta), std::move(blocks), std::move(segments), replace);
  const Slot slot = shared_.index.Find(name.ns, name.key);
  const bool is_new = slot != kNoSlot && shared_.index.entry(slot).meta->write_id == write_id;
  if (is_new) Supersede(name, shared_.all_tiers());
}

void Core::ForwardBegan(TimePoint now) {
  shared_.now = now;
  stager_.ForwardBegan();
}

uint64_t Core::Flush(TimePoint now) {
  shared_.now = now;
  return stager_.Flush();
}

bool Core::NextRead(uint32_t tier, TimePoint now, ReadOp* op) {
  shared_.now = now;
  return reads_.NextOp(tier, now, op);
}

void Core::FinishRead(OpId id, ReadResult result, TimePoint now) {
  shared_.now = now;
  reads_.Finish(id, std::move(result), now);
}

bool Core::NextWrite(uint32_t tier, TimePoint now, WriteOp* op) {
  shared_.now = now;
  return stager_.NextOp(tier, now, op);
}

void Core::FinishWrite(OpId id, WriteResult result, TimePoint now) {
  shared_.now = now;
  stager_.Finish(id, result, now);
}

bool Core::NextMemoryOp(MemoryOp* op) {
  return reads_.NextMemoryOp(op) || stager_.NextMemoryOp(op);
}

void Core::FinishMemoryOp(const MemoryOp& op, bool intact, TimePoint now) {
  shared_.now = now;
  if (op.kind == MemoryOp::Kind::kSeal) return stager_.FinishSeal(op.id);
  reads_.FinishMemoryOp(op.id, intact);
}

void Core::AddFound(uint32_t tier, std::span<const FoundChunk> chunks, TimePoint now) {
  shared_.now = now;
  for (size_t i = 0; i < chunks.size(); ++i) {
    if (i + kPrefetchAhead < chunks.size()) {
      const chunk::ChunkMeta& meta = *chunks[i + kPrefetchAhead].meta;
      shared_.index.Prefetch(meta.ns, meta.key);
    }
    AddOne(tier, chunks[i]);
  }
}

void Core::AddOne(uint32_t tier, const FoundChunk& found) {
  const chunk::ChunkMeta& meta = *found.meta;
  const auto kind = found.owned ? ChunkIndex::CopyKind::kFound : ChunkIndex::CopyKind::kForeign;
  // The host removed it while the scan was on its way.
  if (shared_.unlinks[tier].Concerns(meta.ns, meta.key)) return;
  if (superseded_[tier].contains({meta.ns, meta.key})) {
    if (found.owned) UnlinkFound(tier, found.meta);
    return;
  }
  Slot slot = shared_.index.Find(meta.ns, meta.key);
  if (slot != kNoSlot && shared_.index.entry(slot).readable()) {
    const ChunkIndex::Entry& entry = shared_.index.entry(slot);
    const bool held = (entry.holders & shared_.Bit(tier)) != 0;
    if (entry.meta->write_id == meta.write_id) {
      if (!held && entry.stage != 0) return;  // ours, just renamed: its publication is on the way
      const bool counted = (entry.owned & shared_.Bit(tier)) != 0;
      if (held && (counted || !found.owned)) return shared_.index.MarkSeen(slot, tier);
      shared_.index.Pin(slot);
      if (held) shared_.index.DropCopy(slot, tier);  // a read had met it: whose it is, is known now
      shared_.index.AddCopy(slot, tier, kind);
      return shared_.index.Unpin(slot);
    }
    if (entry.stage != 0 || entry.meta->generation_ns >= meta.generation_ns) {
      if (held || !found.owned) return;
      return UnlinkFound(tier, found.meta);  // an older version of ours: nobody will read it
    }
    DropOlder(slot, tier);
  }
  slot = shared_.index.SetVersion(found.meta);
  shared_.index.AddCopy(slot, tier, kind);
}

void Core::ScanEnds(uint32_t tier, bool complete, TimePoint now) {
  shared_.now = now;
  if (!complete) return;
  std::vector<Slot> gone;
  shared_.index.VisitCopies(tier, [&](Slot slot) {
    if ((shared_.index.entry(slot).seen & shared_.Bit(tier)) == 0) gone.push_back(slot);
  });
  for (const Slot slot : gone) shared_.ForgetCopy(slot, tier);
}

/// Removes a file of this owner that is found and not wanted. Should the tier be too full to count
/// it, it goes before anything is written anyway.
void Core::UnlinkFound(uint32_t tier, const chunk::MetaRef& meta) {
  const bool counted = shared_.index.TryReserve(tier, meta->FileBytes());
  shared_.QueueUnlink(tier, {meta, counted ? meta->FileBytes() : 0});
}

/// What a scan that is not over yet finds under the name is older than what the host has done now.
void Core::Supersede(const ChunkName& name, TierMask tiers) {
  for (uint32_t tier = 0; tier < shared_.options.tier_count(); ++tier) {
    if (!stager_.ready(tier) && (tiers & shared_.Bit(tier)) != 0) superseded_[tier].insert(name);
  }
}

/// A newer version was found on `tier`: drops the copies of the one the index knows.
void Core::DropOlder(Slot slot, uint32_t tier) {
  shared_.index.Pin(slot);
  for (uint32_t other = 0; other < shared_.options.tier_count(); ++other) {
    if ((shared_.index.entry(slot).holders & shared_.Bit(other)) == 0) continue;
    // On this tier the name is that of the file just found. Before a tier is scanned the index has
    // only a snapshot's word for what is there; the scan will tell what has to go.
    if (other == tier || !stager_.ready(other)) {
      shared_.ForgetCopy(slot, other);
    } else {
      shared_.DropCopy(slot, other);
    }
  }
  shared_.index.Unpin(slot);
}

void Core::SetReady(uint32_t tier, TimePoint now) {
  shared_.now = now;
  superseded_[tier].clear();
  stager_.SetReady(tier);
}

void Core::Tick(TimePoint now) {
  shared_.now = now;
  std::vector<LeaseId> expired;
  for (const auto& [id, lease] : leases_) {
    if (lease.expires > now) break;  // all leases last equally long, so ids are in order of expiry
    expired.push_back(id);
  }
  for (const LeaseId id : expired) Release(id);
  reads_.Tick(now);
  stager_.Tick(now);
}

TimePoint Core::NextTick(TimePoint now) const {
  TimePoint next = std::min(reads_.NextTick(now), stager_.NextTick(now));
  if (!leases_.empty()) next = std::min(next, leases_.begin()->second.expires);
  return next;
}

std::vector<Event> Core::TakeEvents() {
  std::vector<Event> events(std::make_move_iterator(shared_.events.begin()),
                            std::make_move_iterator(shared_.events.end()));
  shared_.events.clear();
  return events;
}

std::optional<Event> Core::LastEvent(JobId job) const {
  for (const Event& event : shared_.events) {
    const bool last = event.kind == Event::Kind::kReadDone ||
                      event.kind == Event::Kind::kWriteDone ||
                      event.kind == Event::Kind::kLookupDone;
    if (event.job == job && last) return event;
  }
  return std::nullopt;
}

bool Core::quiet() const {
  const auto no_unlinks = [](const UnlinkQueue& unlinks) { return unlinks.empty(); };
  return idle() && reads_.quiet() && stager_.quiet() &&
         std::ranges::all_of(shared_.unlinks, no_unlinks);
}

bool Core::at_rest() const {
  const auto tier_rests = [this](uint32_t tier) {
    return !stager_.ready(tier) || !shared_.unlinks[tier].HasDue(shared_.now);
  };
  bool rests = idle() && reads_.quiet() && stager_.quiet();
  for (uint32_t tier = 0; tier < shared_.options.tier_count(); ++tier) rests &= tier_rests(tier);
  return rests;
}

bool Core::HasJob(JobId job) const {
  if (reads_.HasJob(job) || stager_.HasJob(job)) return true;
  const auto lookup = lookups_.find(job);
  return lookup != lookups_.end() && !lookup->second.done;
}

void Core::BeginClose(TimePoint now) {
  Flush(now);
  stager_.DropUnready(DropReason::kShutdown);
}

void Core::Close(TimePoint now) {
  shared_.now = now;
  closed_ = true;
  reads_.CancelAll(MissReason::kShutdown);
  stager_.DropAll(DropReason::kShutdown);
}

std::vector<UnreleasedBuffer> Core::Unreleased() const {
  std::vector<UnreleasedBuffer> buffers = reads_.Unreleased();
  std::ranges::move(stager_.Unreleased(), std::back_inserter(buffers));
  const auto key = [](const UnreleasedBuffer& b) { return std::tie(b.job, b.item, b.tier); };
  std::ranges::sort(buffers, {}, key);
  const auto equal = [&](const auto& a, const auto& b) { return key(a) == key(b); };
  buffers.erase(std::unique(buffers.begin(), buffers.end(), equal), buffers.end());
  return buffers;
}

Stats Core::GetStats(TimePoint now) const {
  Stats stats = shared_.stats;
  stats.index_chunks = shared_.index.size();
  stats.leases = leases_.size();
  for (uint32_t tier = 0; tier < shared_.options.tier_count(); ++tier) {
    TierStats& out = stats.tiers[tier];
    out.up = reads_.up(tier) && stager_.up(tier);
    out.chunks = shared_.index.copies(tier);
    out.used_bytes = shared_.index.used_bytes(tier);
    out.window_bytes = reads_.window_bytes(tier);
    out.read_busy = reads_.busy(tier, now);
    out.write_busy = stager_.busy(tier, now);
    out.breaker_opened = reads_.times_opened(tier) + stager_.times_opened(tier);
    out.quarantined_bytes = reads_.quarantined_bytes(tier);
  }
  return stats;
}

}  // namespace kvstream::core
