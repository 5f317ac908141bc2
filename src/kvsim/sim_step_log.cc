#include "kvsim/sim_step_log.h"

#include <nlohmann/json.hpp>

#include "cli/line_file.h"

namespace kvstream::kvsim {
namespace {

using nlohmann::ordered_json;

ordered_json TiersJson(const PolicyRun& run, const sim::StepStorage& storage) {
  ordered_json tiers = ordered_json::array();
  for (size_t tier = 0; tier < run.tier_names.size(); ++tier) {
    const sim::TierActivity& activity = storage.tiers[tier];
    tiers.push_back({{"name", run.tier_names[tier]},
                     {"read_bytes", activity.read_bytes},
                     {"read_chunks", activity.read_chunks},
                     {"read_busy_s", activity.read_busy_s},
                     {"written_bytes", activity.written_bytes},
                     {"write_busy_s", activity.write_busy_s}});
  }
  return tiers;
}

ordered_json ChunksJson(const sim::StepResult& step) {
  ordered_json chunks = ordered_json::array();
  for (const sim::StepChunk& chunk : step.chunks) {
    chunks.push_back({{"id", chunk.chunk.id},
                      {"bytes", chunk.chunk.bytes},
                      {"position", chunk.chunk.position},
                      {"holders", chunk.holders},
                      {"staged", chunk.staged}});
  }
  return chunks;
}

}  // namespace

std::string StepLine(const PolicyRun& run, const sim::StepResult& step) {
  const sim::StepStorage& storage = step.storage;
  const ordered_json line = {{"step", step.step},
                             {"t_s", step.begin_s},
                             {"policy", run.policy.label},
                             {"demand_bytes", storage.demand_bytes},
                             {"tiers", TiersJson(run, storage)},
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
                             {"chunks", ChunksJson(step)},
                             {"node", step.node},
                             {"partial_bound_s", storage.partial_bound_s},
                             {"host_bytes", step.host_bytes},
                             {"computed_tokens", step.computed_tokens},
                             {"dropped_bytes", storage.dropped_bytes}};
  return line.dump() + '\n';
}

Status WriteStepLog(const std::string& path, std::span<const PolicyRun> runs) {
  KVS_TRY_ASSIGN(cli::LineFile file, cli::LineFile::Create(path));
  for (const PolicyRun& run : runs) {
    for (const sim::StepResult& step : run.results.steps) {
      KVS_TRY(file.Append(StepLine(run, step)));
    }
  }
  return file.Close();
}

}  // namespace kvstream::kvsim
