#include "cli/step_reader.h"

#include <sys/resource.h>

#include <fmt/core.h>

#include "base/assert.h"
#include "cli/interrupt.h"
#include "cli/payload.h"

namespace kvstream::cli {
namespace {

// Only so that a lost wake-up would cost a moment and not the run.
constexpr std::chrono::milliseconds kPollInterval{100};

std::chrono::nanoseconds CpuTime() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return std::chrono::seconds(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         std::chrono::microseconds(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

void AddDifference(const Stats& before, const Stats& after, ReadSample* sample) {
  sample->delivered_bytes = after.hit_bytes - before.hit_bytes;
  sample->staged_bytes = after.staged_hit_bytes - before.staged_hit_bytes;
  sample->twice_bytes = after.bytes_read_twice - before.bytes_read_twice;
  for (size_t tier = 0; tier < after.tiers.size(); ++tier) {
    const TierStats& from = before.tiers[tier];
    const TierStats& to = after.tiers[tier];
    sample->tiers.push_back({.bytes = to.read_bytes - from.read_bytes,
                             .chunks = to.read_chunks - from.read_chunks,
                             .busy = to.read_busy - from.read_busy,
                             .written_bytes = to.written_bytes - from.written_bytes,
                             .write_busy = to.write_busy - from.write_busy});
  }
}

}  // namespace

std::string TierNames(const Stats& stats, TierMask tiers) {
  std::string names;
  for (size_t tier = 0; tier < stats.tiers.size(); ++tier) {
    if ((tiers >> tier & 1) == 0) continue;
    names += (names.empty() ? "" : "+") + stats.tiers[tier].name;
  }
  return names.empty() ? "the stage" : names;
}

Result<ReadSample> StepReader::Read(std::span<const ChunkKey> keys, const Options& options) {
  KVS_ASSERT(!keys.empty() && keys.size() <= memory_.slots());
  chunks_.assign(keys.size(), {});
  for (size_t item = 0; item < keys.size(); ++item) {
    chunks_[item].segment = memory_.slot(item);
    SpoilPayload(chunks_[item].segment);
  }
  engine_.StepBegin();

  ReadSample sample;
  const Stats before = engine_.GetStats();
  const auto cpu_before = CpuTime();
  const auto begin = std::chrono::steady_clock::now();
  KVS_TRY_ASSIGN(const JobId job, Submit(keys, options));
  Await(job, &sample);
  sample.retrieval = std::chrono::steady_clock::now() - begin;
  sample.cpu = CpuTime() - cpu_before;
  AddDifference(before, engine_.GetStats(), &sample);
  return sample;
}

Result<JobId> StepReader::Submit(std::span<const ChunkKey> keys, const Options& options) {
  std::vector<ReadItem> items;
  items.reserve(keys.size());
  for (size_t item = 0; item < keys.size(); ++item) {
    items.push_back({keys[item], {&chunks_[item].segment, 1}});
  }
  ReadOptions read_options;
  read_options.lease = options.lease;
  if (options.deadline > std::chrono::nanoseconds{0}) {
    read_options.deadline = std::chrono::steady_clock::now() + options.deadline;
  }
  return engine_.Read(ns_, items, read_options);
}

void StepReader::Await(JobId job, ReadSample* sample) {
  while (!TakeEvents(job, sample)) {
    if (Interrupted() && !sample->interrupted) {
      sample->interrupted = true;
      engine_.Cancel(job);
    }
    WaitReadable(engine_.event_fd(), kPollInterval);
  }
}

bool StepReader::TakeEvents(JobId job, ReadSample* sample) {
  bool done = false;
  for (const Event& event : engine_.Poll()) {
    if (event.job != job) continue;  // writes that settle; the counters of Stats tell of them
    if (event.kind == Event::Kind::kReadDone) done = true;
    if (event.kind != Event::Kind::kChunkRead) continue;
    KVS_ASSERT(event.item < chunks_.size());
    chunks_[event.item].delivered = event.ok;
    chunks_[event.item].tiers = event.tiers;
    if (!event.ok) sample->missed.push_back(event.item);
  }
  return done;
}

Status StepReader::Verify(std::span<const ChunkKey> keys) {
  KVS_ASSERT(keys.size() == chunks_.size());
  for (size_t item = 0; item < keys.size(); ++item) {
    if (!chunks_[item].delivered) continue;
    const auto wrong = VerifyPayload(keys[item], 0, chunks_[item].segment);
    if (!wrong) continue;
    return Error(
        ErrorCode::kCorruption,
        fmt::format("wrong byte: chunk {} at offset {}, delivered by {}", keys[item].ToHex(),
                    *wrong, TierNames(engine_.GetStats(), chunks_[item].tiers)));
  }
  return {};
}

}  // namespace kvstream::cli
