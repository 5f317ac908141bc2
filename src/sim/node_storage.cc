#include "sim/node_storage.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/assert.h"
#include "model/bound.h"
#include "sim/read_pool.h"
#include "sim/tier_set.h"
#include "sim/write_stage.h"

namespace kvstream::sim {
namespace {

std::vector<DeviceSet::Port> PortsOf(const DeviceSet& devices, uint32_t node) {
  std::vector<DeviceSet::Port> ports;
  for (uint32_t tier = 0; tier < devices.tiers().size(); ++tier) {
    ports.push_back(devices.port(tier, node));
  }
  return ports;
}

Status Equal(std::string_view what, uint64_t a, uint64_t b) {
  if (a == b) return {};
  return Error(ErrorCode::kCorruption,
               fmt::format("conservation is broken: {}, {} against {}", what, a, b));
}

}  // namespace

class NodeStorage::Impl {
 public:
  Impl(const DeviceSet& devices, uint32_t node, const StorageOptions& options, EventQueue& queue,
       StorageListener& listener)
      : options_(options),
        ports_(PortsOf(devices, node)),
        queue_(queue),
        listener_(listener),
        tiers_(devices.tiers(), devices.ranks()),
        pool_(options, ports_, queue, &OnPoolDone, this),
        stage_(options.write, ports_, tiers_, queue),
        bandwidths_(ports_.size()),
        mean_bandwidths_(ports_.size()),
        bytes_by_holders_(size_t{1} << ports_.size()) {
    stage_.SetAccepted(&OnStageAccepted, this);
  }

  void SubmitStep(const StepReads& reads);
  void Write(std::span<const StorageChunk> chunks);
  bool SetHolders(const StorageChunk& chunk, TierMask tiers);
  const StorageTotals& totals();
  Status CheckConservation();

  TierSet& tiers() { return tiers_; }
  WriteStage& stage() { return stage_; }
  bool idle() const { return !pool_.open() && pool_.in_flight() == 0 && stage_.empty(); }

 private:
  struct MeanBandwidth {
    double value = 0;
    uint64_t steps = 0;
  };

  static void OnPoolDone(void* context) { static_cast<Impl*>(context)->OnStepRead(); }
  static void OnStageAccepted(void* context) {
    static_cast<Impl*>(context)->listener_.OnWriteAccepted();
  }
  void TouchRead();
  void OnStepRead();
  void FillActivity(StepStorage* step);
  void FillBounds(StepStorage* step);
  void CopyAfterRead(const StepStorage& step);

  StorageOptions options_;
  std::vector<DeviceSet::Port> ports_;
  EventQueue& queue_;
  StorageListener& listener_;
  TierSet tiers_;
  ReadPool pool_;
  WriteStage stage_;

  std::vector<StorageChunk> chunks_;  // of the open step
  std::vector<TierMask> holders_;     // of each; 0: staged
  std::vector<uint32_t> request_ends_;
  uint64_t host_bytes_ = 0;
  TimePoint submitted_{};
  std::vector<double> bandwidths_;  // last shown
  std::vector<MeanBandwidth> mean_bandwidths_;
  std::vector<uint64_t> bytes_by_holders_;
  StorageTotals totals_;
  StorageTotals reported_;  // totals_ when the last step ended
  uint64_t handed_before_ = 0;
};

void NodeStorage::Impl::SubmitStep(const StepReads& reads) {
  KVS_ASSERT(!pool_.open());
  chunks_.assign(reads.chunks.begin(), reads.chunks.end());
  request_ends_.assign(reads.request_ends.begin(), reads.request_ends.end());
  host_bytes_ = reads.host_bytes;
  submitted_ = queue_.now();
  holders_.clear();
  for (const StorageChunk& chunk : chunks_) {
    const TierMask holders = stage_.Staged(chunk.id) ? TierMask{0} : tiers_.Holders(chunk.id);
    KVS_ASSERT(holders != 0 || stage_.Staged(chunk.id));
    tiers_.Pin(chunk.id, holders);
    holders_.push_back(holders);
  }
  TouchRead();
  pool_.Begin({chunks_, request_ends_, host_bytes_}, holders_);
}

/// Each request's chunks from the last to the first.
void NodeStorage::Impl::TouchRead() {
  size_t first = 0;
  const auto touch = [&](size_t end) {
    for (size_t i = end; i > first; --i) tiers_.Touch(chunks_[i - 1].id);
    first = end;
  };
  for (const uint32_t end : request_ends_) touch(end);
  touch(chunks_.size());
}

void NodeStorage::Impl::Write(std::span<const StorageChunk> chunks) { stage_.Write(chunks); }

void NodeStorage::Impl::OnStepRead() {
  StepStorage step;
  step.retrieval_s = std::chrono::duration<double>(queue_.now() - submitted_).count();
  for (size_t i = 0; i < chunks_.size(); ++i) {
    step.demand_bytes += chunks_[i].bytes;
    if (holders_[i] == 0) step.staged_hit_bytes += chunks_[i].bytes;
    tiers_.Unpin(chunks_[i].id, holders_[i]);
  }
  step.demand_chunks = chunks_.size();
  FillActivity(&step);
  FillBounds(&step);
  CopyAfterRead(step);
  stage_.Release();
  ++totals_.steps;
  totals_.demand_bytes += step.demand_bytes;
  totals_.staged_hit_bytes += step.staged_hit_bytes;
  listener_.OnStepRead(step);
}

/// What happened since the step before ended, as differences of running totals.
void NodeStorage::Impl::FillActivity(StepStorage* step) {
  totals();
  for (size_t tier = 0; tier < ports_.size(); ++tier) {
    const StorageTotals::Tier& now = totals_.tiers[tier];
    const StorageTotals::Tier& then = reported_.tiers[tier];
    step->tiers[tier] = now.activity - then.activity;
    step->dropped_bytes += now.dropped_bytes - then.dropped_bytes;
  }
  step->read_twice_bytes = totals_.read_twice_bytes - reported_.read_twice_bytes;
  step->write_wait_s = totals_.write_wait_s - reported_.write_wait_s;
  step->new_bytes = stage_.handed_bytes() - std::exchange(handed_before_, stage_.handed_bytes());
  step->staged_bytes = stage_.staged_bytes();
  reported_ = totals_;
}

void NodeStorage::Impl::FillBounds(StepStorage* step) {
  uint32_t assumed = 0;
  for (size_t tier = 0; tier < ports_.size(); ++tier) {
    const double bandwidth = pool_.step_bandwidth(static_cast<uint32_t>(tier));
    double& shown = bandwidths_[tier];
    if (bandwidth > 0) {
      shown = bandwidth;
    } else {
      assumed |= 1u << tier;
    }
    step->bandwidths[tier] = shown > 0 ? shown : ports_[tier].device->rank_bandwidth().read;
  }
  step->bandwidths_assumed = static_cast<TierMask>(assumed);
  std::ranges::fill(bytes_by_holders_, 0);
  for (size_t i = 0; i < chunks_.size(); ++i) {
    if (holders_[i] != 0) bytes_by_holders_[holders_[i]] += chunks_[i].bytes;
  }
  const std::span<const double> bandwidths = std::span(step->bandwidths).first(ports_.size());
  const double link =
      static_cast<double>(step->demand_bytes + host_bytes_) / options_.link_bytes_per_second;
  const uint64_t from_tiers = step->demand_bytes - step->staged_hit_bytes;
  step->bound_s = std::max(link, model::AggregateBound(from_tiers, bandwidths));
  step->partial_bound_s = std::max(link, model::PartialCopyBound(bytes_by_holders_, bandwidths));
}

/// The second copies of policies that wait with them. What was read is in memory.
void NodeStorage::Impl::CopyAfterRead(const StepStorage& step) {
  const WriteOptions& write = options_.write;
  const bool on_reuse = write.replication == Replication::kOnReuse;
  if (!on_reuse && write.replication != Replication::kWhenSlow) return;
  uint32_t slow = 0;
  for (size_t tier = 0; tier < ports_.size(); ++tier) {
    if ((step.bandwidths_assumed >> tier & 1) != 0) continue;
    MeanBandwidth& mean = mean_bandwidths_[tier];
    const double bandwidth = step.bandwidths[tier];
    if (mean.steps > 0 && write.slow_factor * bandwidth < mean.value) slow |= 1u << tier;
    ++mean.steps;
    mean.value += (bandwidth - mean.value) / static_cast<double>(mean.steps);
  }
  const std::span<const uint8_t> delivered_by = pool_.delivered_by();
  for (size_t i = 0; i < chunks_.size(); ++i) {
    if (delivered_by[i] == ReadPool::kNoTier) continue;
    if (!on_reuse && (slow >> delivered_by[i] & 1) == 0) continue;
    stage_.Copy(chunks_[i].id, chunks_[i].bytes, tiers_.all());
  }
}

bool NodeStorage::Impl::SetHolders(const StorageChunk& chunk, TierMask tiers) {
  const TierMask before = tiers_.Holders(chunk.id);
  for (uint32_t tier = 0; tier < tiers_.count(); ++tier) {
    const bool wanted = (tiers >> tier & 1) != 0;
    const bool held = (before >> tier & 1) != 0;
    if (held && !wanted) tiers_.Erase(tier, chunk.id);
    if (held || !wanted) continue;
    if (!tiers_.MakeRoom(tier, chunk.bytes)) return false;
    tiers_.Commit(tier, chunk.id, chunk.bytes);
  }
  return true;
}

const StorageTotals& NodeStorage::Impl::totals() {
  for (uint32_t tier = 0; tier < tiers_.count(); ++tier) {
    const ReadPool::TierFigures read = pool_.figures(tier);
    const WriteStage::TierFigures written = stage_.figures(tier);
    StorageTotals::Tier& self = totals_.tiers[tier];
    self.activity = {.read_bytes = read.read_bytes,
                     .read_chunks = read.read_chunks,
                     .read_busy_s = read.read_busy_s,
                     .written_bytes = written.written_bytes,
                     .write_busy_s = written.write_busy_s};
    self.staged_bytes = written.staged_bytes;
    self.dropped_bytes = written.dropped_bytes;
    self.evicted_bytes = tiers_.evicted_bytes(tier);
  }
  totals_.read_twice_bytes = pool_.read_twice_bytes();
  totals_.claims = pool_.claims();
  totals_.claims_done = pool_.claims_done();
  totals_.new_bytes = stage_.new_bytes();
  totals_.staged_bytes_max = stage_.staged_bytes_max();
  totals_.write_wait_s = stage_.waited_s();
  return totals_;
}

Status NodeStorage::Impl::CheckConservation() {
  totals();
  uint64_t read = 0;
  for (uint32_t tier = 0; tier < tiers_.count(); ++tier) {
    const WriteStage::TierFigures written = stage_.figures(tier);
    read += pool_.figures(tier).read_bytes;
    KVS_TRY(Equal("bytes written and pending, and bytes staged less dropped",
                  written.written_bytes + written.pending_bytes,
                  written.staged_bytes - written.dropped_bytes));
  }
  KVS_TRY(Equal("claims, and claims done and in flight", totals_.claims,
                totals_.claims_done + pool_.in_flight()));
  if (pool_.open()) return {};
  KVS_TRY(Equal("bytes read, and demand and what was read twice", read,
                totals_.demand_bytes - totals_.staged_hit_bytes + totals_.read_twice_bytes));
  return Equal("chunks delivered, and the demand from tiers", pool_.delivered_bytes(),
               totals_.demand_bytes - totals_.staged_hit_bytes);
}

NodeStorage::NodeStorage(const DeviceSet& devices, uint32_t node, const StorageOptions& options,
                         EventQueue& queue, StorageListener& listener)
    : impl_(std::make_unique<Impl>(devices, node, options, queue, listener)) {}

NodeStorage::~NodeStorage() = default;

TierMask NodeStorage::Holders(uint32_t id) const { return impl_->tiers().Holders(id); }

bool NodeStorage::Staged(uint32_t id) const { return impl_->stage().Staged(id); }

void NodeStorage::Touch(std::span<const uint32_t> ids_in_prefix_order) {
  for (size_t i = ids_in_prefix_order.size(); i > 0; --i) {
    impl_->tiers().Touch(ids_in_prefix_order[i - 1]);
  }
}

void NodeStorage::SubmitStep(const StepReads& reads) { impl_->SubmitStep(reads); }

void NodeStorage::ForwardBegan() { impl_->stage().Release(); }

void NodeStorage::Write(std::span<const StorageChunk> chunks) { impl_->Write(chunks); }

bool NodeStorage::SetHolders(const StorageChunk& chunk, TierMask tiers) {
  return impl_->SetHolders(chunk, tiers);
}

bool NodeStorage::idle() const { return impl_->idle(); }

const StorageTotals& NodeStorage::totals() const { return impl_->totals(); }

Status NodeStorage::CheckConservation() const { return impl_->CheckConservation(); }

}  // namespace kvstream::sim
