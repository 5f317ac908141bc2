// The loop: who is next, how time passes, opening, draining and restarting.

#include "sim/engine_sim.h"

#include <algorithm>
#include <csignal>
#include <cstdio>

#include <fmt/format.h>

#include "base/assert.h"

namespace kvstream::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t kNotesMax = 200;
constexpr uint64_t kTurnsMax = 400'000;
constexpr auto kDrainTimeMax = seconds(120);

const EngineSim* running = nullptr;

/// An assertion in the engine aborts; whose seed was it?
void PrintRunning(int) {
  if (running != nullptr) std::fputs(running->Log().c_str(), stderr);
}

}  // namespace

EngineSim::EngineSim(uint64_t seed, Sabotage sabotage)
    : seed_(seed),
      sabotage_(sabotage),
      plan_(seed),
      random_(seed),
      model_(seed, plan_.keys, plan_.blocks_max) {
  running = this;
  std::signal(SIGABRT, PrintRunning);
  for (uint32_t tier = 0; tier < tier_count(); ++tier) {
    disks_.push_back(std::make_unique<SimDisk>(random_.Next(), tier + 1, plan_.file_system_bytes));
    disks_[tier]->read_device = disks_[tier]->write_device = plan_.devices[tier];
    if (sabotage_ != Sabotage::kUnverifiedFlip) continue;
    FaultRule flip;
    flip.op = FaultOp::kWrite;
    flip.kind = FaultKind::kFlipStored;
    flip.probability = 1;
    disks_[tier]->transfer_faults.Add(flip);
    disks_[tier]->contents_reliable = false;
  }
}

EngineSim::~EngineSim() { running = nullptr; }

std::string EngineSim::Run() {
  OpenEngine();
  while (ok() && actions_done_ < plan_.actions) Turn();
  Drain();
  FinalScan();
  return failure_;
}

void EngineSim::OpenEngine() {
  SimEngineOptions options;
  options.core = plan_.core;
  options.core.seed += engines_opened_++;
  options.verify = sabotage_ != Sabotage::kUnverifiedFlip;
  engine_ = std::make_unique<SimEngine>(options, disks_, clock_);
  scan_pending_.assign(tier_count(), true);
  stalled_until_.assign(engine_->lane_count(), TimePoint::min());
  control_bytes_.clear();
  faults_seen_ = plan_.file_system_bytes != UINT64_MAX;
  for (uint32_t tier = 0; tier < tier_count(); ++tier) {
    control_bytes_.push_back(disks_[tier]->files.used_bytes() - disks_[tier]->ChunkBytes());
    if (!engine_->LoadSnapshot(tier)) {
      faults_seen_ = faults_seen_ || engines_opened_ > 1;  // an old snapshot may promise too much
      continue;
    }
    scan_pending_[tier] = false;
    engine_->SetReady(tier);
  }
  next_action_ = clock_.Now();
  Trace("open", engines_opened_);
}

/// One thing that can happen now, or the next instant at which something can.
void EngineSim::Turn() {
  std::vector<size_t> candidates;
  for (size_t lane = 0; lane < engine_->lane_count(); ++lane) {
    if (engine_->Runnable(lane) && stalled_until_[lane] <= clock_.Now()) candidates.push_back(lane);
  }
  const size_t host = engine_->lane_count();
  if (HostIsDue()) candidates.push_back(host);
  if (candidates.empty()) {
    CheckQuiet();
    return ok() ? Advance() : void();
  }
  const size_t chosen = candidates[random_.Below(candidates.size())];
  if (chosen == host) {
    HostAction();
  } else {
    RunLane(chosen);
  }
  AfterTurn();
}

bool EngineSim::HostIsDue() const { return !draining_ && next_action_ <= clock_.Now(); }

void EngineSim::RunLane(size_t lane) {
  const bool changed = engine_->Run(lane);
  const TimePoint due = engine_->DueOf(lane);
  Trace("lane", lane, changed, engine_->in_flight(),
        due == TimePoint::max() ? 0 : static_cast<uint64_t>((due - clock_.Now()).count()));
  // A thread is sometimes late.
  if (!draining_ && random_.Chance(0.01)) {
    stalled_until_[lane] = clock_.Now() + milliseconds(1 + random_.Below(4));
  }
}

void EngineSim::AfterTurn() {
  if (random_.Chance(0.8)) TakeEvents();
  CheckCapacity();
  CheckStats();
  if (++coverage_.turns > kTurnsMax) Fail("too many turns: somebody spins");
}

void EngineSim::Advance() {
  TimePoint next = draining_ ? TimePoint::max() : next_action_;
  for (size_t lane = 0; lane < engine_->lane_count(); ++lane) {
    const bool waits = engine_->Runnable(lane);  // for the end of its stall
    next = std::min(
        next, waits ? stalled_until_[lane] : std::max(engine_->DueOf(lane), stalled_until_[lane]));
  }
  if (next == TimePoint::max()) return Fail("nothing will ever happen again");
  clock_.AdvanceTo(next);
}

/// The host has done its part and nothing fails any more: all must end soon.
void EngineSim::Drain() {
  if (!ok()) return;
  Trace("drain");
  draining_ = true;
  EndFaults();
  while (!uncommitted_.empty()) CommitWrite();
  for (uint32_t tier = 0; tier < tier_count(); ++tier) {
    if (scan_pending_[tier]) engine_->Scan(tier);
    scan_pending_[tier] = false;
  }
  engine_->Call([](core::Core& core, TimePoint now) {
    core.ForwardBegan(now);
    core.Flush(now);
  });
  const TimePoint limit = clock_.Now() + kDrainTimeMax;
  while (ok() && !AtRest()) {
    Turn();
    if (clock_.Now() > limit) Fail("not at rest in time although nothing fails");
  }
  TakeEvents();
  CheckAtRest();
  draining_ = false;
}

bool EngineSim::AtRest() const {
  if (!engine_->core().quiet() || engine_->in_flight() > 0) return false;
  for (size_t lane = 0; lane < engine_->lane_count(); ++lane) {
    if (engine_->Runnable(lane)) return false;
  }
  const Stats stats = engine_->core().GetStats(clock_.Now());
  return std::ranges::all_of(stats.tiers, &TierStats::up);
}

/// A crash leaves the files as they are; the engine that crashed is run to its end on the old ones,
/// where it must behave like any other.
void EngineSim::Restart() {
  Trace(plan_.crash ? "crash" : "restart");
  std::vector<std::unique_ptr<SimDisk>> copies;
  if (plan_.crash) {
    ++coverage_.crashes;
    for (const auto& disk : disks_) {
      copies.push_back(CrashCopy(*disk, random_.Next(), plan_.power_cut));
      coverage_.temps_left_by_crashes += copies.back()->TempFiles().size();
    }
  } else {
    ++coverage_.orderly_restarts;
  }
  Drain();
  if (!ok()) return;
  CloseEngine(plan_.snapshots && !plan_.crash);
  if (plan_.crash) {
    disks_ = std::move(copies);
    model_.ForgetOrder();
  }
  leases_.clear();
  OpenEngine();
}

void EngineSim::CloseEngine(bool snapshots) {
  CountCoverage();
  if (snapshots) {
    for (uint32_t tier = 0; tier < tier_count(); ++tier) engine_->WriteSnapshot(tier, true);
  }
  engine_->CloseLanes();
  engine_.reset();
}

/// What the index said must be what a scan finds, and readable.
void EngineSim::FinalScan() {
  if (!ok()) return;
  std::vector<CopySet> before;
  for (uint32_t tier = 0; tier < tier_count(); ++tier) before.push_back(CopiesOf(tier));
  CloseEngine(false);
  OpenEngine();
  for (uint32_t tier = 0; tier < tier_count(); ++tier) {
    if (scan_pending_[tier]) engine_->Scan(tier);
    scan_pending_[tier] = false;
  }
  for (uint32_t tier = 0; tier < tier_count(); ++tier) {
    if (!disks_[tier]->TempFiles().empty()) Fail("a temporary file has survived a scan");
    const bool exact = disks_[tier]->contents_reliable && !plan_.foreign;
    if (!exact) continue;
    for (const auto& copy : CopiesOf(tier)) {
      const bool known = before[tier].erase(copy) > 0;
      if (!known) Fail(fmt::format("tier {}: the scan found {} again", tier, copy.first));
    }
    if (!before[tier].empty()) {
      Fail(fmt::format("tier {}: the scan missed {}", tier, before[tier].begin()->first));
    }
  }
  ReadEverything();
  Drain();
  if (ok()) CloseEngine(false);
}

void EngineSim::ReadEverything() {
  std::vector<size_t> keys;
  for (size_t index = 0; index < model_.size(); ++index) keys.push_back(index);
  SubmitReadOf(keys, kNoDeadline, 0);
}

void EngineSim::Fail(const std::string& what) {
  if (failure_.empty()) failure_ = fmt::format("seed {}: {}", seed_, what);
}

void EngineSim::Trace(const char* what, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
  const std::array<uint64_t, 4> values = {a, b, c, d};
  const auto mix = [&](uint64_t value) { trace_hash_ = (trace_hash_ ^ value) * 0x100000001b3u; };
  mix(static_cast<uint64_t>(clock_.Now().time_since_epoch().count()));
  for (const char* at = what; *at != 0; ++at) mix(static_cast<uint64_t>(*at));
  for (const uint64_t value : values) mix(value);
  notes_.push_back({clock_.Now(), what, values});
  if (notes_.size() > kNotesMax) notes_.pop_front();
}

std::string EngineSim::Log() const {
  std::string text = fmt::format(
      "seed {} ({} tiers, policy {}, order {}, claim_chunks {}, faulty {}, foreign {}, "
      "restart at {}): KVS_SIM_SEED={} replays it\n",
      seed_, tier_count(), static_cast<int>(plan_.core.routing.policy),
      static_cast<int>(plan_.core.routing.order), plan_.core.routing.claim_chunks, plan_.faulty,
      plan_.foreign, plan_.restart_at, seed_);
  for (const Note& note : notes_) {
    const double ms =
        std::chrono::duration<double, std::milli>(note.time.time_since_epoch()).count();
    text += fmt::format("{:14.6f} ms  {:<14} {} {} {} {}\n", ms - 3.6e6, note.what, note.values[0],
                        note.values[1], note.values[2], note.values[3]);
  }
  return text + failure_ + "\n";
}

}  // namespace kvstream::test
