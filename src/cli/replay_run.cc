#include "cli/replay_run.h"

#include <algorithm>
#include <set>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/assert.h"
#include "base/units.h"
#include "cli/format.h"
#include "cli/interrupt.h"

namespace kvstream::cli {
namespace {

double Seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

std::vector<ChunkKey> MakeKeys(uint64_t count) {
  std::vector<ChunkKey> keys;
  keys.reserve(count);
  for (uint64_t id = 0; id < count; ++id) {
    const std::string number = std::to_string(id);
    const std::string_view parts[] = {"kvstream replay", number};
    keys.push_back(ChunkKey::FromParts(parts));
  }
  return keys;
}

std::vector<std::string> TierNameList(const Stats& stats) {
  std::vector<std::string> names;
  for (const TierStats& tier : stats.tiers) names.push_back(tier.name);
  return names;
}

}  // namespace

// One step on its way through RunStep.
struct ReplayRun::Step {
  size_t begin = 0;
  StepDemand demand;
  std::vector<ChunkKey> read_keys;
  std::vector<LookupResult> holders;  // of demand.reads
  std::set<uint32_t> missed;          // items of demand.reads, under any policy
  std::vector<double> retrieval_s;    // by policy
  std::chrono::nanoseconds forward{0};
  double write_s = 0;
  bool interrupted = false;
};

Identity ReplayIdentity(const ReplayOptions& options) {
  Identity identity;
  identity.model = "kvstream-replay";
  identity.dtype = "bytes";
  identity.layout = "generated-payload";
  identity.adapter = "kvstream-cli";
  identity.chunk_tokens = options.trace.chunk_tokens;
  identity.row_bytes = options.chunk_bytes;
  // Chunk ids are dense within what is loaded, so every cut of a trace has its own.
  const trace::TraceOptions& cut = options.trace;
  identity.salt = fmt::format(
      "{} format={} context={} turns={} sessions={} order={} window={} seed={} "
      "requests={}",
      options.trace_source, cut.format, cut.context_tokens_max, cut.session_turns_min,
      cut.sessions_max, static_cast<int>(cut.order), cut.window, cut.seed, cut.requests_max);
  return identity;
}

ReplayRun::ReplayRun(const ReplayOptions& options, const trace::RequestTrace& trace,
                     Session& session, LineFile* log)
    : options_(options),
      trace_(trace),
      session_(session),
      log_(log),
      reader_(session.engine(), session.ns(), options.chunk_bytes),
      writer_(session.engine(), session.ns(), options.chunk_bytes),
      host_(options.host_cache_bytes, options.chunk_bytes),
      bandwidths_(options.engine.tiers.size()),
      progress_(Progress::OnTerminal()),
      keys_(MakeKeys(trace.chunk_count)),
      tier_names_(TierNameList(session.engine().GetStats())) {
  KVS_ASSERT(!options.policies.empty());
  for (const PolicyArg& policy : options.policies)
    policies_.emplace_back(policy, tier_names_.size());
}

Status ReplayRun::Run() {
  begin_ = std::chrono::steady_clock::now();
  if (policies_.size() == 1) KVS_TRY(session_.engine().SetRouting(policies_[0].policy.routing));
  for (size_t begin = 0; begin < trace_.requests.size() && !Interrupted();) {
    Step step;
    step.begin = begin;
    KVS_TRY(RunStep(&step));
    if (step.interrupted) break;
    begin = step.demand.end;
  }
  progress_.Clear();
  // What the last steps handed over belongs to the run.
  return Interrupted() ? Status() : session_.Flush();
}

Status ReplayRun::RunStep(Step* step) {
  Engine& engine = session_.engine();
  engine.Poll();  // what settled since; the counters of Stats tell of it
  // Side by side, all policies must find the same copies, so nothing may settle between their
  // reads.
  if (policies_.size() > 1) KVS_TRY(session_.Flush());
  engine.StepBegin();
  step->demand = Match(step->begin);
  step->retrieval_s.assign(policies_.size(), 0.0);
  if (!step->demand.reads.empty()) KVS_TRY(ReadAll(step));
  if (step->interrupted) return {};

  step->forward = options_.forward.StepTime(step->demand.work);
  KVS_TRY(Compute(step));
  std::vector<uint64_t> ids;
  for (size_t request = step->begin; request < step->demand.end; ++request) {
    trace_.ChunkIds(trace_.requests[request], ids);
    host_.Use(ids);
  }
  CountWaits(*step);
  ShowProgress(*step);
  return {};
}

// One call for all chunks that the step's requests name and host memory does not have.
std::unordered_map<uint64_t, bool> ReplayRun::LookUp(size_t begin, size_t end) {
  std::unordered_map<uint64_t, bool> stored;
  std::vector<uint64_t> ids;
  std::vector<StepChunk> chunks;
  for (size_t request = begin; request < end; ++request) {
    trace_.ChunkIds(trace_.requests[request], ids);
    for (uint64_t id : ids) {
      if (!host_.Contains(id) && stored.emplace(id, false).second) chunks.push_back({id, 0});
    }
  }
  std::vector<LookupResult> results(chunks.size());
  session_.engine().Lookup(session_.ns(), Keys(chunks), results);
  for (size_t chunk = 0; chunk < chunks.size(); ++chunk) {
    stored[chunks[chunk].id] = results[chunk].hit();
  }
  return stored;
}

StepDemand ReplayRun::Match(size_t begin) {
  const size_t end = StepEnd(trace_, begin, options_.batch);
  const auto stored = LookUp(begin, end);
  const auto reads_max = static_cast<size_t>(options_.read_buffer_bytes / options_.chunk_bytes);
  StepDemand demand = MatchPrefixes(
      trace_, {.begin = begin, .end = end, .reads_max = reads_max}, [this, &stored](uint64_t id) {
        if (host_.Contains(id)) return ChunkPlace::kHost;
        return stored.at(id) ? ChunkPlace::kStorage : ChunkPlace::kNowhere;
      });
  ++counts_.steps;
  counts_.requests += demand.end - begin;
  counts_.cut_steps += demand.end < end ? 1 : 0;
  counts_.host_chunks += demand.host_chunks;
  counts_.storage_chunks += demand.storage_chunks;
  counts_.missed_chunks += demand.missed_chunks;
  counts_.demand_bytes += demand.reads.size() * options_.chunk_bytes;
  return demand;
}

Status ReplayRun::ReadAll(Step* step) {
  Engine& engine = session_.engine();
  step->read_keys = Keys(step->demand.reads);
  step->holders.resize(step->read_keys.size());
  KVS_TRY(reader_.Reserve(step->read_keys.size()));
  // A read releases the lease it names, so each policy needs one; all are taken before the first
  // read.
  std::vector<LeaseId> leases;
  for (size_t policy = 0; policy < policies_.size(); ++policy) {
    leases.push_back(engine.Lookup(session_.ns(), step->read_keys, step->holders, true));
  }
  for (size_t turn = 0; turn < policies_.size(); ++turn) {
    if (step->interrupted) {
      engine.Release(leases[turn]);
      continue;
    }
    // Rotating, so that no policy always comes first, after the longest pause.
    PolicyTotals& totals = policies_[(counts_.steps + turn) % policies_.size()];
    KVS_TRY(ReadOnce(step, &totals, leases[turn]));
  }
  return {};
}

Status ReplayRun::ReadOnce(Step* step, PolicyTotals* totals, LeaseId lease) {
  if (policies_.size() > 1) KVS_TRY(session_.engine().SetRouting(totals->policy.routing));
  KVS_TRY_ASSIGN(const ReadSample sample,
                 reader_.Read(step->read_keys, {lease, options_.engine.deadline}));
  KVS_TRY(reader_.Verify(step->read_keys));
  step->interrupted = sample.interrupted;
  if (sample.interrupted) return {};

  HolderBytes bytes(tier_names_.size());
  for (const LookupResult& holder : step->holders) {
    if (!holder.staged) bytes.Add(holder.tiers, options_.chunk_bytes);
  }
  const StepBound bound = BoundOfStep(bytes, sample, &bandwidths_);
  totals->Add(sample, bound);
  step->missed.insert(sample.missed.begin(), sample.missed.end());
  step->retrieval_s[static_cast<size_t>(totals - policies_.data())] = Seconds(sample.retrieval);
  return LogRead(*step, *totals, sample, bound.seconds);
}

Status ReplayRun::LogRead(const Step& step, const PolicyTotals& totals, const ReadSample& sample,
                          double bound_s) {
  if (log_ == nullptr) return {};
  StepRecord record;
  record.step = counts_.steps;
  record.t_s = Seconds(std::chrono::steady_clock::now() - begin_);
  record.policy = totals.policy.label;
  record.demand_bytes = step.demand.reads.size() * options_.chunk_bytes;
  record.bound_s = bound_s;
  record.forward_s = Seconds(options_.forward.StepTime(step.demand.work));
  record.write_s = last_write_s_;
  record.new_bytes = last_new_bytes_;
  record.staged_bytes = session_.engine().GetStats().staged_bytes;
  record.requests = step.demand.end - step.begin;
  record.chunk_bytes = options_.chunk_bytes;
  record.sample = &sample;
  record.chunks = step.demand.reads;
  record.holders = step.holders;
  return log_->Append(StepRecordLine(record, tier_names_));
}

// The forward pass, during which the writes of the step before drain; then its new chunks are
// handed over (Algorithm 1 of the paper, lines 11, 12 and 1). A chunk whose read was a miss is new
// as well.
Status ReplayRun::Compute(Step* step) {
  session_.engine().ForwardBegan();
  counts_.forward += step->forward;
  SleepInterruptibly(std::chrono::nanoseconds(
      static_cast<int64_t>(static_cast<double>(step->forward.count()) * options_.time_scale)));
  std::vector<ChunkKey> keys;
  for (uint32_t item : step->missed) keys.push_back(step->read_keys[item]);
  for (const StepChunk& chunk : step->demand.writes) keys.push_back(keys_[chunk.id]);
  KVS_TRY_ASSIGN(const WriteCounts writes, writer_.Write(keys));
  counts_.writes.staged += writes.staged;
  counts_.writes.present += writes.present;
  counts_.writes.dropped += writes.dropped;
  counts_.writes.held += writes.held;
  counts_.new_bytes += keys.size() * options_.chunk_bytes;
  step->write_s = last_write_s_ = Seconds(writes.held);
  last_new_bytes_ = keys.size() * options_.chunk_bytes;
  return {};
}

// Every policy has its own clock: the same steps, with its own retrieval times.
void ReplayRun::CountWaits(const Step& step) {
  const bool recorded = options_.arrivals == Arrivals::kRecorded;
  const auto batch = std::span(trace_.requests).subspan(step.begin, step.demand.end - step.begin);
  for (size_t policy = 0; policy < policies_.size(); ++policy) {
    PolicyTotals& totals = policies_[policy];
    double start_s = totals.clock_s;
    if (recorded) {
      for (const trace::Request& request : batch) {
        start_s = std::max(start_s, request.arrival_s * options_.arrival_scale);
      }
    }
    const double end_s = start_s + step.retrieval_s[policy] + Seconds(step.forward);
    for (const trace::Request& request : batch) {
      totals.waits_s.push_back(end_s -
                               (recorded ? request.arrival_s * options_.arrival_scale : start_s));
    }
    totals.clock_s = end_s + step.write_s;
  }
}

void ReplayRun::ShowProgress(const Step& step) {
  const PolicyTotals& last = policies_.back();
  progress_.Update(
      std::chrono::steady_clock::now(),
      fmt::format("step {}, {} of {} requests, {} read, {} {}, gap {}", counts_.steps,
                  step.demand.end, trace_.requests.size(), base::FormatBytes(last.delivered_bytes),
                  last.policy.label, base::FormatBandwidth(last.bytes_per_second()),
                  FormatPercent(last.gap())));
}

std::vector<ChunkKey> ReplayRun::Keys(const std::vector<StepChunk>& chunks) const {
  std::vector<ChunkKey> keys;
  keys.reserve(chunks.size());
  for (const StepChunk& chunk : chunks) keys.push_back(keys_[chunk.id]);
  return keys;
}

uint64_t ReplayRun::CountStored() {
  std::vector<LookupResult> results(keys_.size());
  session_.engine().Lookup(session_.ns(), keys_, results);
  return static_cast<uint64_t>(std::count_if(
      results.begin(), results.end(), [](const LookupResult& result) { return result.hit(); }));
}

nlohmann::json CountsJson(const ReplayCounts& counts) {
  return {{"steps", counts.steps},
          {"requests", counts.requests},
          {"steps_cut_to_read_buffer", counts.cut_steps},
          {"host_hit_chunks", counts.host_chunks},
          {"storage_hit_chunks", counts.storage_chunks},
          {"missed_chunks", counts.missed_chunks},
          {"demand_bytes", counts.demand_bytes},
          {"new_bytes", counts.new_bytes},
          {"writes",
           {{"staged_chunks", counts.writes.staged},
            {"present_chunks", counts.writes.present},
            {"dropped_chunks", counts.writes.dropped},
            {"held_s", Seconds(counts.writes.held)}}},
          {"forward_s", Seconds(counts.forward)}};
}

}  // namespace kvstream::cli
