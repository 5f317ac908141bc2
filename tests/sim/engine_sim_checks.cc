// What must hold, and what is done to see that it is noticed when it does not.

#include <algorithm>

#include <fmt/format.h>

#include "chunk/footer.h"
#include "sim/engine_sim.h"

namespace kvstream::test {

void EngineSim::TakeEvents() {
  std::vector<Event> events = engine_->TakeEvents();
  if (!events.empty() && !sabotage_done_ && actions_done_ * 2 > plan_.actions) {
    if (sabotage_ == Sabotage::kLostEvent) events.pop_back();
    if (sabotage_ == Sabotage::kRepeatedEvent) events.push_back(events.front());
    sabotage_done_ = sabotage_ == Sabotage::kLostEvent || sabotage_ == Sabotage::kRepeatedEvent;
  }
  for (const Event& event : events) {
    if (ok()) OnEvent(event);
  }
}

void EngineSim::OnEvent(const Event& event) {
  Trace("event", static_cast<uint64_t>(event.kind), event.job, event.item,
        event.ok ? 100 : static_cast<uint64_t>(event.miss));
  switch (event.kind) {
    case Event::Kind::kChunkRead:
      return OnChunkRead(event);
    case Event::Kind::kReadDone:
      return OnReadDone(event);
    case Event::Kind::kChunkSettled:
      return OnChunkSettled(event);
    case Event::Kind::kWriteDone:
      return OnWriteDone(event);
    case Event::Kind::kLookupDone:
      return OnLookupDone(event);
  }
}

void EngineSim::OnChunkRead(const Event& event) {
  const auto found = reads_.find(event.job);
  if (found == reads_.end()) return Fail("a chunk of a job that is not open");
  ReadJob& job = found->second;
  if (event.item >= job.chunks.size() || job.chunks[event.item].done) {
    return Fail("a chunk was reported twice");
  }
  ReadChunk& chunk = job.chunks[event.item];
  chunk.done = true;
  --job.open;
  for (const UnreleasedBuffer& buffer : engine_->core().Unreleased()) {
    const bool of_reads = buffer.job == event.job && buffer.item == event.item;
    if (of_reads) return Fail("a chunk is done while I/O can touch its memory");
  }
  if (!chunk.memory->GuardsIntact()) return Fail("bytes beside a chunk's memory were written");
  if (event.ok) {
    const std::vector<std::byte> bytes = chunk.memory->Payload();
    if (event.bytes != bytes.size()) return Fail("a delivered chunk of another length");
    if (!model_.MayDeliver(chunk.key, chunk.floor, bytes)) {
      return Fail(fmt::format("wrong bytes: key {}, floor {}", chunk.key, chunk.floor));
    }
    job.bytes += bytes.size();
    ++coverage_.chunks_delivered;
  } else {
    OnMiss(event, job, chunk);
  }
  chunk.memory->Retire();
  retired_.push_back(std::move(*chunk.memory));
  chunk.memory.reset();
}

void EngineSim::OnMiss(const Event& event, const ReadJob& job, const ReadChunk& chunk) {
  ++coverage_.misses[static_cast<size_t>(event.miss)];
  const bool by_index = event.miss == MissReason::kUnknown || event.miss == MissReason::kLength;
  if (by_index != (chunk.expected != MissReason::kNone)) return Fail("a miss the index denies");
  switch (event.miss) {
    case MissReason::kUnknown:
    case MissReason::kLength:
      if (event.miss != chunk.expected) Fail("the wrong kind of miss");
      return;
    case MissReason::kDeadline:
      if (job.deadline > clock_.Now()) Fail("a deadline passed too soon");
      return;
    case MissReason::kCancelled:
      if (!job.cancelled) Fail("cancelled, but by nobody");
      return;
    case MissReason::kLost: {
      const HostModel::Key& key = model_.key(chunk.key);
      const bool damaged =
          std::ranges::any_of(disks_, [](const auto& disk) { return !disk->contents_reliable; });
      const bool excused = faults_seen_ || damaged || key.foreign || key.changed != chunk.changed;
      if (!excused) Fail(fmt::format("key {} was lost without a reason", chunk.key));
      return;
    }
    case MissReason::kNone:
    case MissReason::kShutdown:
      return Fail("a miss for a reason that cannot be");
  }
}

void EngineSim::OnReadDone(const Event& event) {
  const auto found = reads_.find(event.job);
  if (found == reads_.end()) return Fail("a read job ended twice");
  if (found->second.open > 0) return Fail("a read job ended before its chunks");
  if (event.bytes != found->second.bytes) Fail("a read job's bytes do not add up");
  reads_.erase(found);
}

void EngineSim::OnChunkSettled(const Event& event) {
  const auto found = writes_.find(event.job);
  if (found == writes_.end()) return Fail("a settled chunk of a job that is not open");
  WriteJob& job = found->second;
  if (event.item >= job.chunks.size() || job.chunks[event.item].done) {
    return Fail("a chunk settled twice");
  }
  WriteChunk& chunk = job.chunks[event.item];
  chunk.done = true;
  --job.open;
  for (const UnreleasedBuffer& buffer : engine_->core().Unreleased()) {
    if (buffer.job == event.job && buffer.item == event.item) {
      return Fail("a chunk settled while I/O reads its memory");
    }
  }
  // The memory is the host's again: whoever still reads it gets something else.
  std::ranges::fill(chunk.borrowed, std::byte{0xaa});
  mutated_.push_back(std::move(chunk.borrowed));
  if (!event.ok && event.tiers != 0) Fail("a chunk that failed is on a tier");
}

void EngineSim::OnWriteDone(const Event& event) {
  const auto found = writes_.find(event.job);
  if (found == writes_.end()) return Fail("a write job ended twice");
  if (found->second.open > 0) return Fail("a write job ended before its chunks");
  writes_.erase(found);
}

void EngineSim::OnLookupDone(const Event& event) {
  const auto found = lookups_.find(event.job);
  if (found == lookups_.end()) return Fail("a lookup ended twice");
  const auto outcome =
      engine_->Call([&](core::Core& core, TimePoint) { return core.TakeLookup(event.job); });
  if (!outcome) return Fail("a lookup ended without an outcome");
  const Lookup& lookup = found->second;
  if (outcome->results.size() != lookup.keys.size()) return Fail("a lookup of another length");
  for (size_t i = 0; i < lookup.keys.size(); ++i) {
    if (outcome->results[i].tiers != 0 && !lookup.hit[i]) ++coverage_.discovered;
  }
  if (outcome->lease != 0) leases_.push_back(outcome->lease);
  if (outcome->lease != 0 && !lookup.lease) Fail("a lease nobody asked for");
  lookups_.erase(found);
}

/// At every instant, by the index and by the files.
void EngineSim::CheckCapacity() {
  for (uint32_t tier = 0; tier < tier_count(); ++tier) {
    const uint64_t capacity = plan_.core.tiers[tier].capacity_bytes;
    if (engine_->core().index().used_bytes(tier) > capacity) {
      return Fail(fmt::format("tier {}: the index exceeds the capacity of {}: {}", tier, capacity,
                              engine_->core().index().used_bytes(tier)));
    }
    const uint64_t used = disks_[tier]->files.used_bytes();
    // Control files, other owners' files and open files without a name count too: look closer.
    if (used <= capacity + control_bytes_[tier]) continue;
    if (disks_[tier]->OwnedBytes() > capacity) {
      return Fail(fmt::format("tier {}: the files exceed the capacity", tier));
    }
  }
}

void EngineSim::CheckStats() {
  const Stats stats = engine_->core().GetStats(clock_.Now());
  const auto during = [&](FlushReason reason) {
    return stats.flushed_bytes_during_reads[static_cast<size_t>(reason)];
  };
  if (during(FlushReason::kHint) + during(FlushReason::kIdle) > 0) {
    Fail("a write went out during reads without a reason to");
  }
  if (stats.staged_bytes > stats.stage_capacity_bytes) Fail("the stage is too full");
  // Nobody damaged anything, so nothing may look damaged.
  const bool clean = !faults_seen_ && !plan_.foreign;
  for (uint32_t tier = 0; tier < tier_count(); ++tier) {
    const TierStats& each = stats.tiers[tier];
    if (!clean || !disks_[tier]->contents_reliable) continue;
    if (each.corrupt_blocks + each.short_reads + each.io_errors > 0) {
      Fail(fmt::format("tier {}: errors although there are no faults", tier));
    }
  }
}

/// Nothing can happen at this instant any more.
void EngineSim::CheckQuiet() {
  const bool stalled =
      std::ranges::any_of(stalled_until_, [&](TimePoint until) { return until > clock_.Now(); });
  if (stalled) return;
  TakeEvents();
  CheckDeadlines();
  const TimePoint tick = engine_->core().NextTick(clock_.Now());
  if (tick < engine_->next_tick()) Fail("the core's next tick is before the memory lane's");
  if (ok()) CheckWakeUps();
}

/// What is late may only wait for I/O that touches the caller's memory.
void EngineSim::CheckDeadlines() {
  std::set<JobId> held;
  for (const UnreleasedBuffer& buffer : engine_->core().Unreleased()) held.insert(buffer.job);
  for (const auto& [id, job] : reads_) {
    const bool ended_by_host = job.cancelled || job.deadline <= clock_.Now();
    if (ended_by_host && !held.contains(id)) {
      return Fail(fmt::format("job {} should have ended by its deadline or by Cancel", id));
    }
  }
}

/// A lane that finds work without having been woken would have slept on. Between Admit and Commit
/// the stage may pass its high water; it is Commit that wakes.
void EngineSim::CheckWakeUps() {
  const bool busy = engine_->in_flight() > 0;
  for (size_t lane = 0; lane + 1 < engine_->lane_count(); ++lane) {
    if (engine_->Run(lane) && !busy && uncommitted_.empty())
      return Fail(fmt::format("lane {} was not woken", lane));
  }
}

void EngineSim::CheckAtRest() {
  if (!ok()) return;
  if (!reads_.empty()) return Fail("a read job has not ended");
  if (!writes_.empty()) return Fail("a write job has not ended");
  if (!lookups_.empty()) return Fail("a lookup has not ended");
  // Read lanes close what they keep open when they run dry.
  for (size_t lane = 0; lane + 1 < engine_->lane_count(); ++lane) engine_->Run(lane);
  if (engine_->core().GetStats(clock_.Now()).staged_bytes != 0) return Fail("bytes stay staged");
  if (engine_->blocks_taken() != 0) return Fail("blocks of a pool are lost");
  for (uint32_t tier = 0; tier < tier_count(); ++tier) CheckFiles(tier);
  CheckRetired();
}

void EngineSim::CheckFiles(uint32_t tier) {
  SimDisk& disk = *disks_[tier];
  if (disk.files.open_files() != 1) {
    return Fail(fmt::format("tier {}: {} files are open", tier, disk.files.open_files() - 1));
  }
  if (disk.unlinks_reliable && !disk.TempFiles().empty()) {
    return Fail(fmt::format("tier {}: a temporary file is left", tier));
  }
  std::set<std::string> known;
  for (const auto& [path, write_id] : CopiesOf(tier)) {
    known.insert(path);
    if (!disk.files.Exists(path) && !plan_.foreign && disk.contents_reliable) {
      return Fail(fmt::format("tier {}: the index has a copy without a file", tier));
    }
  }
  for (const std::string& path : disk.ChunkFiles()) {
    if (!known.contains(path) && !disk.IsForeign(path) && !plan_.foreign) {
      return Fail(fmt::format("tier {}: {} is not in the index", tier, path));
    }
  }
}

EngineSim::CopySet EngineSim::CopiesOf(uint32_t tier) const {
  CopySet copies;
  const core::ChunkIndex& index = engine_->core().index();
  index.VisitCopies(tier, [&](core::Slot slot) {
    const chunk::MetaRef& meta = index.entry(slot).meta;
    copies.emplace(engine_->ChunkPath(tier, meta->key), meta->write_id);
  });
  return copies;
}

void EngineSim::CheckRetired() {
  for (const ReadMemory& memory : retired_) {
    if (!memory.StillRetired()) return Fail("memory was written after its chunk's event");
  }
  for (const std::vector<std::byte>& memory : mutated_) {
    const auto changed = [](std::byte byte) { return byte != std::byte{0xaa}; };
    if (std::ranges::any_of(memory, changed)) return Fail("borrowed memory was written");
  }
  retired_.clear();
  mutated_.clear();
}

void EngineSim::Sabotaged() {
  if (sabotage_done_ || actions_done_ * 2 <= plan_.actions) return;
  if (sabotage_ == Sabotage::kLateWrite && !retired_.empty()) {
    retired_.back().segments()[0][0] ^= std::byte{1};
    sabotage_done_ = true;
  }
  if (sabotage_ == Sabotage::kGuard) {
    for (auto& [id, job] : reads_) {
      for (ReadChunk& chunk : job.chunks) {
        if (chunk.done) continue;
        *(chunk.memory->segments()[0].data() - 1) ^= std::byte{1};
        sabotage_done_ = true;
      }
    }
  }
  if (sabotage_ == Sabotage::kExtraFile) {
    const std::string path = engine_->ChunkPath(0, model_.key(0).key);
    if (disks_[0]->files.Exists(path)) return;
    const std::vector<std::byte> bytes(plan_.core.tiers[0].capacity_bytes + 1);
    disks_[0]->files.SetContents(path, bytes);
    sabotage_done_ = true;
  }
}

void EngineSim::CountCoverage() {
  const Stats stats = engine_->core().GetStats(clock_.Now());
  coverage_.bytes_read_twice += stats.bytes_read_twice;
  coverage_.staged_hit_bytes += stats.staged_hit_bytes;
  for (size_t i = 0; i < kFlushReasonCount; ++i)
    coverage_.flushed_bytes[i] += stats.flushed_bytes[i];
  for (const TierStats& tier : stats.tiers) {
    for (size_t i = 0; i < kDropReasonCount; ++i)
      coverage_.dropped_copies[i] += tier.dropped_copies[i];
    coverage_.evicted_chunks += tier.evicted_chunks;
    coverage_.corrupt_blocks += tier.corrupt_blocks;
    coverage_.stale_copies += tier.stale_copies;
    coverage_.breaker_opened += tier.breaker_opened;
  }
  for (const auto& disk : disks_) {
    coverage_.faults += disk->transfer_faults.fired() + disk->file_faults.fired();
  }
}

void SimCoverage::Add(const SimCoverage& other) {
  turns += other.turns;
  chunks_delivered += other.chunks_delivered;
  for (size_t i = 0; i < misses.size(); ++i) misses[i] += other.misses[i];
  for (size_t i = 0; i < kDropReasonCount; ++i) dropped_copies[i] += other.dropped_copies[i];
  for (size_t i = 0; i < kFlushReasonCount; ++i) flushed_bytes[i] += other.flushed_bytes[i];
  bytes_read_twice += other.bytes_read_twice;
  staged_hit_bytes += other.staged_hit_bytes;
  evicted_chunks += other.evicted_chunks;
  corrupt_blocks += other.corrupt_blocks;
  stale_copies += other.stale_copies;
  breaker_opened += other.breaker_opened;
  crashes += other.crashes;
  orderly_restarts += other.orderly_restarts;
  temps_left_by_crashes += other.temps_left_by_crashes;
  faults += other.faults;
  discovered += other.discovered;
}

}  // namespace kvstream::test
