#include "sim/step_log_run.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/assert.h"
#include "sim/figure_hash.h"

namespace kvstream::sim {
namespace {

/// What a log can show and a device can have, bytes per second.
constexpr double kBandwidthMin = 1e5;
constexpr double kBandwidthMax = 1e15;
/// Virtual time ends at 292 years; a log that takes more than 30 is none.
constexpr double kRunSecondsMax = 1e9;

/// Per tier: bytes per second in one step of the log; 0 where it showed none.
using StepBandwidths = std::vector<Bandwidth>;

double Rate(uint64_t bytes, double seconds) {
  return bytes > 0 && seconds > 0 ? static_cast<double>(bytes) / seconds : 0;
}

/// Gives tiers that were idle in a step what they showed before, or else after; says where.
class LoggedBandwidths {
 public:
  LoggedBandwidths(const StepLog& log, std::span<const LoggedStep* const> steps)
      : names_(log.tier_names) {
    for (const LoggedStep* step : steps) {
      StepBandwidths& bandwidths = steps_.emplace_back();
      bool assumed = false;
      for (const LoggedTier& tier : step->tiers) {
        bandwidths.push_back({.read = Rate(tier.read_bytes, tier.read_busy_s),
                              .write = Rate(tier.written_bytes, tier.write_busy_s)});
        assumed |= bandwidths.back().read == 0;
      }
      assumed_steps_ += assumed ? 1 : 0;
    }
  }

  /// `overall`: of the whole log, for a tier that none of these steps used.
  Status Fill(const StepBandwidths& overall) {
    for (size_t tier = 0; tier < names_.size(); ++tier) {
      FillGaps(tier, overall[tier], &Bandwidth::read);
      FillGaps(tier, overall[tier], &Bandwidth::write);
      for (StepBandwidths& step : steps_) {
        Bandwidth& bandwidth = step[tier];
        if (bandwidth.write == 0) bandwidth.write = bandwidth.read;
        if (bandwidth.read == 0) {
          return Error(ErrorCode::kInvalidArgument,
                       fmt::format("tier '{}' did not read in any step of the log: its bandwidth "
                                   "must be given",
                                   names_[tier]));
        }
        KVS_TRY(CheckRange(tier, bandwidth.read));
        KVS_TRY(CheckRange(tier, bandwidth.write));
      }
    }
    return {};
  }

  const StepBandwidths& of(size_t step) const { return steps_[step]; }
  uint64_t assumed_steps() const { return assumed_steps_; }

 private:
  Status CheckRange(size_t tier, double bandwidth) const {
    if (bandwidth >= kBandwidthMin && bandwidth <= kBandwidthMax) return {};
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("tier '{}' shows {:g} bytes/s in a step of the log; from {:g} to {:g} "
                             "can be replayed",
                             names_[tier], bandwidth, kBandwidthMin, kBandwidthMax));
  }
  void FillGaps(size_t tier, const Bandwidth& overall, double Bandwidth::*field) {
    const auto known = std::ranges::find_if(
        steps_, [&](const StepBandwidths& step) { return step[tier].*field > 0; });
    double last = known == steps_.end() ? overall.*field : (*known)[tier].*field;
    for (StepBandwidths& step : steps_) {
      double& value = step[tier].*field;
      if (value == 0) value = last;
      last = value;
    }
  }

  const std::vector<std::string>& names_;
  std::vector<StepBandwidths> steps_;
  uint64_t assumed_steps_ = 0;
};

StepBandwidths OverallBandwidths(const StepLog& log) {
  std::vector<LoggedTier> sums(log.tier_names.size());
  for (const LoggedStep& step : log.steps) {
    for (size_t tier = 0; tier < sums.size(); ++tier) {
      sums[tier].read_bytes += step.tiers[tier].read_bytes;
      sums[tier].read_busy_s += step.tiers[tier].read_busy_s;
      sums[tier].written_bytes += step.tiers[tier].written_bytes;
      sums[tier].write_busy_s += step.tiers[tier].write_busy_s;
    }
  }
  StepBandwidths bandwidths;
  for (const LoggedTier& sum : sums) {
    bandwidths.push_back({.read = Rate(sum.read_bytes, sum.read_busy_s),
                          .write = Rate(sum.written_bytes, sum.write_busy_s)});
  }
  return bandwidths;
}

std::vector<TierModel> TiersOf(const StepLog& log, const StepLogOptions& options) {
  std::vector<TierModel> tiers = options.tiers;
  if (tiers.empty()) {
    for (const std::string& name : log.tier_names) {
      TierModel& tier = tiers.emplace_back();
      tier.name = name;
      tier.series.base = {.read = 1, .write = 1};  // until the first step sets it
    }
  }
  for (TierModel& tier : tiers) tier.capacity_bytes = std::numeric_limits<uint64_t>::max();
  return tiers;
}

StorageOptions StorageOf(const StepLogOptions& options) {
  StorageOptions storage = options.storage;
  storage.write.stage_bytes = std::numeric_limits<uint64_t>::max() / 2;
  storage.write.full = StageFull::kWait;
  // Full replication copies nothing later.
  if (!options.replay_writes) storage.write.replication = Replication::kFull;
  return storage;
}

class StepLogRun final : public StorageListener {
 public:
  StepLogRun(const StepLog& log, const StepLogOptions& options)
      : options_(options),
        tiers_(TiersOf(log, options)),
        devices_(tiers_, /*nodes=*/1, /*ranks=*/1, options.seed, queue_),
        storage_(devices_, 0, StorageOf(options), queue_, *this),
        placed_(log.chunk_count) {}

  Status Step(const LoggedStep& logged);
  void SetBandwidths(const StepBandwidths& bandwidths);
  Result<StepLogResults> Finish();
  StepLogResults& results() { return results_; }

  void OnStepRead(const StepStorage& step) override {
    step_ = step;
    answered_ = true;
  }
  void OnWriteAccepted() override { answered_ = true; }

 private:
  void TakeChunks(const LoggedStep& logged);
  Status Place();
  Status Await();
  Status Drain();
  Status RunNext();
  Status CheckTime() const;
  void Record(const LoggedStep& logged);
  void CountWrites();

  StepLogOptions options_;
  EventQueue queue_;
  std::vector<TierModel> tiers_;
  DeviceSet devices_;
  NodeStorage storage_;
  std::vector<bool> placed_;
  std::vector<StorageChunk> chunks_;  // of the step, from the tiers
  std::vector<TierMask> holders_;     // of each, as logged
  std::vector<uint32_t> request_ends_;
  std::vector<StorageChunk> fresh_;
  uint64_t staged_bytes_ = 0;
  uint64_t logged_new_bytes_ = 0;
  StepStorage step_;
  bool answered_ = false;
  StepLogResults results_;
  FigureHash hash_;
};

void StepLogRun::SetBandwidths(const StepBandwidths& bandwidths) {
  for (uint32_t tier = 0; tier < bandwidths.size(); ++tier) {
    devices_.port(tier, 0).device->SetBandwidth(bandwidths[tier]);
  }
}

Status StepLogRun::Step(const LoggedStep& logged) {
  TakeChunks(logged);
  KVS_TRY(Place());
  answered_ = false;
  storage_.SubmitStep({.chunks = chunks_, .request_ends = request_ends_});
  KVS_TRY(Await());
  Record(logged);
  storage_.ForwardBegan();
  queue_.RunUntil(queue_.now() + SecondsUp(std::min(logged.forward_s, 2 * kRunSecondsMax)));
  KVS_TRY(CheckTime());
  if (options_.replay_writes) KVS_TRY(Drain());
  return storage_.CheckConservation();
}

/// The chunks that tiers deliver, request by request: a request ends where positions stop rising.
void StepLogRun::TakeChunks(const LoggedStep& logged) {
  chunks_.clear();
  holders_.clear();
  request_ends_.clear();
  staged_bytes_ = 0;
  uint32_t next_position = 0;
  const auto end_request = [&] {
    const uint32_t first = request_ends_.empty() ? 0 : request_ends_.back();
    for (size_t i = first; i < chunks_.size(); ++i) chunks_[i].prefix_chunks = next_position;
    request_ends_.push_back(static_cast<uint32_t>(chunks_.size()));
  };
  for (const LoggedChunk& chunk : logged.chunks) {
    const bool from_tiers = options_.replay_writes || (chunk.holders != 0 && !chunk.staged);
    if (!from_tiers) {
      if (chunk.staged) staged_bytes_ += chunk.bytes;
      results_.missed_chunks += chunk.staged ? 0 : 1;
      continue;
    }
    if (!chunks_.empty() && chunk.position < next_position) end_request();
    next_position = chunk.position + 1;
    chunks_.push_back({.id = chunk.id,
                       .position = chunk.position,
                       .prefix_chunks = next_position,
                       .bytes = chunk.bytes});
    holders_.push_back(chunk.holders);
  }
  end_request();
}

Status StepLogRun::Place() {
  fresh_.clear();
  for (size_t i = 0; i < chunks_.size(); ++i) {
    if (!options_.replay_writes) {
      const bool fits = storage_.SetHolders(chunks_[i], holders_[i]);
      KVS_ASSERT(fits);  // capacity has no limit
    } else if (!placed_[chunks_[i].id]) {
      placed_[chunks_[i].id] = true;
      fresh_.push_back(chunks_[i]);
    }
  }
  if (fresh_.empty()) return {};
  answered_ = false;
  storage_.Write(fresh_);
  KVS_TRY(Await());
  storage_.ForwardBegan();
  return Drain();
}

Status StepLogRun::Await() {
  while (!answered_) KVS_TRY(RunNext());
  return {};
}

Status StepLogRun::Drain() {
  while (!storage_.idle()) KVS_TRY(RunNext());
  return {};
}

Status StepLogRun::RunNext() {
  if (!queue_.RunNext()) {
    return Error(ErrorCode::kCorruption, "nothing is left to happen in a step that is not done");
  }
  return CheckTime();
}

Status StepLogRun::CheckTime() const {
  if (queue_.now_s() <= kRunSecondsMax) return {};
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("the steps of the log take more than {:g} s", kRunSecondsMax));
}

void StepLogRun::Record(const LoggedStep& logged) {
  step_.demand_bytes += staged_bytes_;
  step_.staged_hit_bytes += staged_bytes_;
  results_.steps.push_back({.step = logged.step,
                            .storage = step_,
                            .forward_s = logged.forward_s,
                            .logged_retrieval_s = logged.retrieval_s});
  logged_new_bytes_ += logged.new_bytes;
  results_.retrieval_s += step_.retrieval_s;
  results_.bound_s += step_.bound_s;
  results_.logged_retrieval_s += logged.retrieval_s;
  hash_.Add(step_.retrieval_s);
  hash_.Add(step_.bound_s);
  hash_.Add(step_.read_twice_bytes);
  for (const TierActivity& tier : step_.tiers) {
    hash_.Add(tier.read_bytes);
    hash_.Add(tier.written_bytes);
  }
}

void StepLogRun::CountWrites() {
  const StorageTotals& totals = results_.totals;
  const uint64_t unread = logged_new_bytes_ - std::min(logged_new_bytes_, totals.new_bytes);
  results_.unread_new_bytes = unread;
  double copies = 1;
  const auto others = static_cast<double>(tiers_.size() - 1);
  const WriteOptions& write = options_.storage.write;
  if (write.replication == Replication::kFull) copies += others;
  if (write.replication == Replication::kFraction) copies += write.fraction * others;
  const double read = static_cast<double>(totals.new_bytes);
  const double all = read + static_cast<double>(unread);
  const double written = read * totals.write_amplification() + static_cast<double>(unread) * copies;
  results_.write_amplification = all > 0 ? written / all : 0;
}

Result<StepLogResults> StepLogRun::Finish() {
  KVS_TRY(Drain());
  KVS_TRY(storage_.CheckConservation());
  results_.totals = storage_.totals();
  if (options_.replay_writes) CountWrites();
  results_.hash = hash_.value();
  return std::move(results_);
}

Result<std::vector<const LoggedStep*>> ChosenSteps(const StepLog& log, const std::string& policy) {
  const auto found =
      policy.empty() ? log.policies.begin() : std::ranges::find(log.policies, policy);
  if (found == log.policies.end()) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("the step log has no policy '{}', only {}", policy,
                             fmt::join(log.policies, ", ")));
  }
  const auto wanted = static_cast<uint32_t>(found - log.policies.begin());
  std::vector<const LoggedStep*> steps;
  bool has_chunks = false;
  for (const LoggedStep& step : log.steps) {
    if (step.policy != wanted) continue;
    steps.push_back(&step);
    has_chunks |= !step.chunks.empty();
  }
  if (!has_chunks) {
    return Error(ErrorCode::kInvalidArgument,
                 "the step log has no lists of chunks, so it cannot be replayed");
  }
  return steps;
}

}  // namespace

Result<StepLogResults> RunStepLog(const StepLog& log, const StepLogOptions& options) {
  KVS_TRY_ASSIGN(const std::vector<const LoggedStep*> steps,
                 ChosenSteps(log, options.logged_policy));
  if (!options.tiers.empty() && options.tiers.size() != log.tier_names.size()) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("the step log has {} tiers, {} are given", log.tier_names.size(),
                             options.tiers.size()));
  }
  for (const TierModel& tier : options.tiers) KVS_TRY(Validate(tier));
  LoggedBandwidths bandwidths(log, steps);
  if (options.tiers.empty()) KVS_TRY(bandwidths.Fill(OverallBandwidths(log)));
  StepLogRun run(log, options);
  for (size_t i = 0; i < steps.size(); ++i) {
    if (options.tiers.empty()) run.SetBandwidths(bandwidths.of(i));
    KVS_TRY(run.Step(*steps[i]));
  }
  if (options.tiers.empty()) run.results().assumed_steps = bandwidths.assumed_steps();
  return run.Finish();
}

}  // namespace kvstream::sim
