#include "kvsim/sim_step_log.h"

#include <nlohmann/json.hpp>

#include "cli/line_file.h"

namespace kvstream::kvsim {
namespace {

using nlohmann::ordered_json;

// Number in the setup of a run's first tier; a run has all tiers or one.
uint32_t FirstTier(const PolicyRun& run) { return run.policy.only_tier.value_or(0); }

ordered_json TiersJson(const Setup& setup, const PolicyRun& run, const sim::StepStorage& storage) {
  ordered_json tiers = ordered_json::array();
  for (size_t number = 0; number < setup.tiers.size(); ++number) {
    const size_t tier = number - FirstTier(run);
    const bool exists = number >= FirstTier(run) && tier < run.tier_names.size();
    const sim::TierActivity activity = exists ? storage.tiers[tier] : sim::TierActivity{};
    tiers.push_back({{"name", setup.tiers[number].name},
                     {"read_bytes", activity.read_bytes},
                     {"read_chunks", activity.read_chunks},
                     {"read_busy_s", activity.read_busy_s},
                     {"written_bytes", activity.written_bytes},
                     {"write_busy_s", activity.write_busy_s}});
  }
  return tiers;
}

ordered_json ChunksJson(const PolicyRun& run, const sim::StepResult& step) {
  ordered_json chunks = ordered_json::array();
  for (const sim::StepChunk& chunk : step.chunks) {
    chunks.push_back({{"id", chunk.chunk.id},
                      {"bytes", chunk.chunk.bytes},
                      {"position", chunk.chunk.position},
                      {"holders", chunk.holders << FirstTier(run)},
                      {"staged", chunk.staged}});
  }
  return chunks;
}

}  // namespace

std::string StepLine(const Setup& setup, const PolicyRun& run, const sim::StepResult& step) {
  const sim::StepStorage& storage = step.storage;
  const ordered_json line = {{"step", step.step},
                             {"t_s", step.begin_s},
                             {"policy", run.policy.label},
                             {"demand_bytes", storage.demand_bytes},
                             {"tiers", TiersJson(setup, run, storage)},
                             {"read_twice_bytes", storage.read_twice_bytes},
                             {"staged_hit_bytes", storage.staged_hit_bytes},
                             {"missed_chunks", 0},
                             {"retrieval_s", storage.retrieval_s},
                             {"bound_s", storage.bound_s},
                             {"forward_s", step.forward_s},
                             {"write_s", storage.write_wait_s},
                             {"new_bytes", storage.new_bytes},
                             {"staged_bytes", storage.staged_bytes},
                             {"requests", step.requests},
                             {"chunks", ChunksJson(run, step)},
                             {"node", step.node},
                             {"partial_bound_s", storage.partial_bound_s},
                             {"host_bytes", step.host_bytes},
                             {"computed_tokens", step.computed_tokens},
                             {"dropped_bytes", storage.dropped_bytes}};
  return line.dump() + '\n';
}

Status WriteStepLog(const std::string& path, const Setup& setup, std::span<const PolicyRun> runs) {
  KVS_TRY_ASSIGN(cli::LineFile file, cli::LineFile::Create(path));
  for (const PolicyRun& run : runs) {
    for (const sim::StepResult& step : run.results.steps) {
      KVS_TRY(file.Append(StepLine(setup, run, step)));
    }
  }
  return file.Close();
}

}  // namespace kvstream::kvsim
