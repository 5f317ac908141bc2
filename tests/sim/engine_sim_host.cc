// What the simulated host does.

#include <algorithm>

#include "base/assert.h"
#include "chunk/crc32c.h"
#include "sim/engine_sim.h"

namespace kvstream::test {
namespace {

using std::chrono::nanoseconds;

/// Virtual wall clock: the first run began at this many nanoseconds.
constexpr uint64_t kWallStartNs = 1'700'000'000'000'000'000u;

uint64_t WallNs(TimePoint now) {
  return kWallStartNs + static_cast<uint64_t>(now.time_since_epoch().count());
}

uint32_t Bit(uint32_t tier) { return 1u << tier; }

}  // namespace

void EngineSim::HostAction() {
  ++actions_done_;
  const double gaps = random_.Chance(0.4) ? 0 : 2 * random_.Uniform();
  next_action_ =
      clock_.Now() +
      nanoseconds(static_cast<int64_t>(gaps * static_cast<double>(plan_.action_gap.count())));
  Sabotaged();
  if (actions_done_ == plan_.restart_at) return Restart();
  for (uint32_t tier = 0; tier < tier_count(); ++tier) {
    if (!scan_pending_[tier] || !random_.Chance(0.4)) continue;
    EndFaults();
    engine_->Scan(tier);
    scan_pending_[tier] = false;
    return Trace("scan", tier);
  }
  if (!uncommitted_.empty() && random_.Chance(0.6)) return CommitWrite();
  const uint64_t dice = random_.Below(100);
  if (dice < 32) return SubmitRead();
  if (dice < 58) return BeginWrite();
  if (dice < 64) return RemoveSome();
  if (dice < 70) return LookUp();
  if (dice < 74) return LookUpLater();
  if (dice < 78) return Cancel();
  if (dice < 80) return ChangeRouting();
  if (dice < 87) return Hint();
  if (dice < 94) return plan_.faulty ? AddFault() : Hint();
  if (dice < 97) return EndFaults();
  return WriteAsOther();
}

std::vector<size_t> EngineSim::SomeKeys(size_t count_max) {
  const size_t count = 1 + random_.Below(count_max);
  std::vector<size_t> keys;
  size_t next = random_.Below(model_.size());
  while (keys.size() < count) {
    if (random_.Chance(0.2)) next = random_.Below(model_.size());
    if (std::ranges::find(keys, next) != keys.end()) break;
    keys.push_back(next);
    next = (next + 1) % model_.size();
  }
  return keys;
}

std::vector<ChunkKey> EngineSim::ToKeys(const std::vector<size_t>& indices) const {
  std::vector<ChunkKey> keys;
  for (const size_t index : indices) keys.push_back(model_.key(index).key);
  return keys;
}

void EngineSim::SubmitRead() {
  TimePoint deadline = kNoDeadline;
  if (random_.Chance(0.3)) {
    deadline = clock_.Now() + nanoseconds(random_.Below(20'000'000));
  }
  LeaseId lease = 0;
  if (!leases_.empty() && random_.Chance(0.5)) {
    lease = leases_.back();
    leases_.pop_back();
  }
  SubmitReadOf(SomeKeys(8), deadline, lease);
}

void EngineSim::SubmitReadOf(const std::vector<size_t>& keys, TimePoint deadline, LeaseId lease) {
  const bool aligned = random_.Chance(0.5);
  ReadJob job;
  job.deadline = deadline;
  job.open = keys.size();
  std::vector<core::ReadRequest> requests;
  const std::vector<ChunkKey> names = ToKeys(keys);
  std::vector<LookupResult> found(keys.size());
  engine_->Call([&](core::Core& core, TimePoint) { core.Lookup(engine_->ns(), names, found); });
  for (size_t i = 0; i < keys.size(); ++i) {
    uint64_t bytes = found[i].hit() ? found[i].bytes : model_.BytesOf(keys[i]);
    if (random_.Chance(0.03)) bytes += 1;
    ReadChunk& chunk = job.chunks.emplace_back();
    chunk.key = keys[i];
    chunk.floor = model_.key(keys[i]).floor;
    chunk.changed = model_.key(keys[i]).changed;
    chunk.memory = std::make_unique<ReadMemory>(bytes, aligned, random_);
    if (!found[i].hit()) chunk.expected = MissReason::kUnknown;
    if (found[i].hit() && found[i].bytes != bytes) chunk.expected = MissReason::kLength;
    requests.push_back({names[i], chunk.memory->segments()});
  }
  const JobId id = engine_->Call([&](core::Core& core, TimePoint now) {
    return core.Read(engine_->ns(), std::move(requests), deadline, lease, now);
  });
  Trace("read", id, keys.size(), keys[0], deadline == kNoDeadline ? 0 : 1);
  reads_.emplace(id, std::move(job));
}

void EngineSim::BeginWrite() {
  WriteJob job;
  job.borrow = random_.Chance(0.4);
  job.replace = random_.Chance(0.25);
  for (const size_t key : SomeKeys(5)) {
    if (model_.key(key).being_written) continue;
    WriteChunk& chunk = job.chunks.emplace_back();
    chunk.key = key;
    chunk.version = model_.BeginWrite(key, job.replace || random_.Chance(0.1));
  }
  job.open = job.chunks.size();
  const auto count = static_cast<uint32_t>(job.chunks.size());
  JobId id = 0;
  engine_->Call([&](core::Core& core, TimePoint now) {
    id = core.BeginWrite(count, now);
    for (uint32_t item = 0; item < count; ++item) {
      WriteChunk& chunk = job.chunks[item];
      const HostModel::Key& key = model_.key(chunk.key);
      const uint64_t bytes = key.versions[chunk.version].payload.size();
      chunk.admission =
          core.Admit({id, item, engine_->ns(), key.key, bytes, job.borrow, job.replace}, now);
      if (chunk.admission.accept != WriteAccept::kStaged) continue;
      chunk.meta = core.NewMeta(engine_->ns(), key.key, bytes, WallNs(now));
    }
  });
  Trace("write", id, count, job.borrow, job.replace);
  writes_.emplace(id, std::move(job));
  if (count == 0) return;  // it has ended already
  uncommitted_.push_back(id);
  if (random_.Chance(0.7)) CommitWrite();
}

void EngineSim::CommitWrite() {
  const JobId id = uncommitted_.front();
  uncommitted_.pop_front();
  WriteJob& job = writes_.at(id);
  job.committed = true;
  for (uint32_t item = 0; item < job.chunks.size(); ++item) CommitItem(id, job, item);
}

void EngineSim::CommitItem(JobId id, WriteJob& job, uint32_t item) {
  WriteChunk& chunk = job.chunks[item];
  const HostModel::Key& key = model_.key(chunk.key);
  Trace("commit", id, item, chunk.key, chunk.version);
  if (chunk.admission.accept != WriteAccept::kStaged) {
    model_.EndWrite(chunk.key, chunk.version, false);
    return engine_->Call([&](core::Core& core, TimePoint now) {
      core.SettleUnstaged(id, item, chunk.admission.accept, engine_->ns(), key.key, now);
    });
  }
  const std::vector<std::byte>& payload = key.versions[chunk.version].payload;
  std::vector<std::byte*> blocks;
  core::ConstSegments segments;
  if (job.borrow) {
    chunk.borrowed = payload;
    const size_t cut = random_.Below(payload.size());
    const std::span<const std::byte> all = chunk.borrowed;
    if (cut > 0) segments.push_back(all.first(cut));
    segments.push_back(all.subspan(cut));
  } else {
    blocks = FillBlocks(chunk);
  }
  LookupResult present;
  engine_->Call([&](core::Core& core, TimePoint now) {
    core.Lookup(engine_->ns(), {&key.key, 1}, {&present, 1});
    core.Commit(chunk.admission.stage, chunk.meta, std::move(blocks), std::move(segments),
                job.replace, now);
  });
  const bool equal = !job.replace && present.hit() && present.bytes == payload.size();
  model_.EndWrite(chunk.key, chunk.version, !equal);
}

/// As Engine::Write fills the stage.
std::vector<std::byte*> EngineSim::FillBlocks(WriteChunk& chunk) {
  const std::vector<std::byte>& payload = model_.key(chunk.key).versions[chunk.version].payload;
  chunk::ChunkMeta& meta = chunk.meta.mutable_meta();
  std::vector<std::byte*> blocks;
  for (uint32_t index = 0; index < meta.block_count; ++index) {
    std::byte* block = engine_->stage_pool().TryTake();
    KVS_ASSERT(block != nullptr);
    const auto part =
        std::span(payload).subspan(size_t{index} * kSimBlockBytes, meta.BlockBytes(index));
    std::ranges::copy(part, block);
    std::fill(block + part.size(), block + kSimBlockBytes, std::byte{0});
    meta.crcs()[index] = chunk::Crc32c(part);
    blocks.push_back(block);
  }
  return blocks;
}

void EngineSim::RemoveSome() {
  const std::vector<size_t> keys = SomeKeys(4);
  const uint32_t all = Bit(tier_count()) - 1;
  const uint32_t tiers = random_.Chance(0.6) ? all : static_cast<uint32_t>(random_.Below(all + 1));
  const std::vector<ChunkKey> names = ToKeys(keys);
  engine_->Call([&](core::Core& core, TimePoint now) {
    core.Remove(engine_->ns(), names, static_cast<TierMask>(tiers), now);
  });
  Trace("remove", keys[0], keys.size(), tiers);
  for (const size_t key : keys) {
    if (tiers == all) model_.Remove(key);
    model_.Disturb(key);
  }
}

void EngineSim::LookUp() {
  const std::vector<size_t> keys = SomeKeys(6);
  const std::vector<ChunkKey> names = ToKeys(keys);
  std::vector<LookupResult> results(keys.size());
  LeaseId lease = 0;
  const bool want_lease = random_.Chance(0.5);
  engine_->Call([&](core::Core& core, TimePoint now) {
    core.Lookup(engine_->ns(), names, results);
    if (want_lease) lease = core.Lease(engine_->ns(), names, now);
    core.Touch(engine_->ns(), names);
  });
  for (size_t i = 0; i < keys.size(); ++i) {
    if (results[i].hit() && !model_.MayHaveLength(keys[i], results[i].bytes)) {
      Fail("lookup: a hit of no version that may be readable");
    }
  }
  if (lease != 0) leases_.push_back(lease);
  if (leases_.size() > 4) {
    engine_->Call([&](core::Core& core, TimePoint) { core.Release(leases_.front()); });
    leases_.erase(leases_.begin());
  }
  Trace("lookup", keys[0], keys.size(), lease);
}

void EngineSim::LookUpLater() {
  Lookup lookup;
  lookup.keys = SomeKeys(6);
  lookup.lease = random_.Chance(0.3);
  const bool discover = random_.Chance(0.7);
  const std::vector<ChunkKey> names = ToKeys(lookup.keys);
  std::vector<LookupResult> before(names.size());
  const JobId id = engine_->Call([&](core::Core& core, TimePoint now) {
    core.Lookup(engine_->ns(), names, before);
    return core.LookupAsync(engine_->ns(), names, discover, lookup.lease, now);
  });
  Trace("lookup later", id, lookup.keys.size(), discover);
  for (const LookupResult& result : before) lookup.hit.push_back(result.hit());
  lookups_.emplace(id, std::move(lookup));
}

void EngineSim::Cancel() {
  if (reads_.empty()) return;
  auto job = reads_.begin();
  std::advance(job, random_.Below(reads_.size()));
  job->second.cancelled = true;
  const JobId id = job->first;
  Trace("cancel", id);
  engine_->Call([&](core::Core& core, TimePoint now) { core.Cancel(id, now); });
}

void EngineSim::ChangeRouting() {
  const RoutingOptions routing = RandomRouting(random_, tier_count());
  const bool changed = engine_->Call([&](core::Core& core, TimePoint) {
    const Status status = core.SetRouting(routing);
    KVS_ASSERT(status || status.error().code() == ErrorCode::kBusy);
    return status.has_value();
  });
  Trace("routing", changed, static_cast<uint64_t>(routing.policy), routing.claim_chunks);
}

void EngineSim::Hint() {
  const uint64_t kind = random_.Below(4);
  Trace("hint", kind);
  if (kind == 3) {
    disks_[random_.Below(tier_count())]->read_device = RandomDevice(random_);
    return;
  }
  engine_->Call([&](core::Core& core, TimePoint now) {
    if (kind == 0) core.StepBegin();
    if (kind == 1) core.ForwardBegan(now);
    if (kind == 2) core.Flush(now);
  });
}

void EngineSim::AddFault() {
  const auto tier = static_cast<uint32_t>(random_.Below(tier_count()));
  const bool transfer = random_.Chance(0.6);
  const FaultRule rule = RandomFault(random_, transfer);
  SimDisk& disk = *disks_[tier];
  (transfer ? disk.transfer_faults : disk.file_faults).Add(rule);
  if (rule.op == FaultOp::kUnlink) disk.unlinks_reliable = false;
  if (rule.kind == FaultKind::kFlipStored || rule.kind == FaultKind::kTruncateFile) {
    disk.contents_reliable = false;
  }
  faults_seen_ = true;
  faults_active_ = true;
  Trace("fault", tier, static_cast<uint64_t>(rule.op), static_cast<uint64_t>(rule.kind),
        static_cast<uint64_t>(rule.probability * 100));
}

void EngineSim::EndFaults() {
  if (!faults_active_) return;
  faults_active_ = false;
  Trace("faults end");
  for (const auto& disk : disks_) disk->ClearFaults();
}

void EngineSim::WriteAsOther() {
  const auto tier = static_cast<uint32_t>(random_.Below(tier_count()));
  const size_t key = random_.Below(model_.size());
  const bool possible = plan_.foreign && plan_.core.tiers[tier].shared && !faults_active_ &&
                        plan_.file_system_bytes == UINT64_MAX && !model_.key(key).being_written;
  if (!possible) return;
  const size_t version = model_.WriteForeign(key);
  const std::vector<std::byte>& payload = model_.key(key).versions[version].payload;
  chunk::MetaRef meta =
      chunk::MetaRef::Create(0, model_.key(key).key, payload.size(), kSimBlockBytes);
  meta.mutable_meta().write_id = random_.Next();
  meta.mutable_meta().generation_ns = WallNs(clock_.Now());
  for (uint32_t index = 0; index < meta->block_count; ++index) {
    meta.mutable_meta().crcs()[index] = chunk::Crc32c(
        std::span(payload).subspan(size_t{index} * kSimBlockBytes, meta->BlockBytes(index)));
  }
  PublishForeign(*disks_[tier], meta, payload);
  Trace("other writes", tier, key, version);
}

}  // namespace kvstream::test
