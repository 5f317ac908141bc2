#include "cli/step_log.h"

#include <nlohmann/json.hpp>

#include "base/assert.h"

namespace kvstream::cli {
namespace {

using nlohmann::ordered_json;

double Seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

ordered_json TiersJson(const ReadSample& sample, std::span<const std::string> names) {
  ordered_json tiers = ordered_json::array();
  for (size_t tier = 0; tier < sample.tiers.size(); ++tier) {
    const TierSample& figures = sample.tiers[tier];
    tiers.push_back({{"name", names[tier]},
                     {"read_bytes", figures.bytes},
                     {"read_chunks", figures.chunks},
                     {"read_busy_s", Seconds(figures.busy)},
                     {"written_bytes", figures.written_bytes},
                     {"write_busy_s", Seconds(figures.write_busy)}});
  }
  return tiers;
}

ordered_json ChunksJson(const StepRecord& record) {
  ordered_json chunks = ordered_json::array();
  for (size_t chunk = 0; chunk < record.chunks.size(); ++chunk) {
    chunks.push_back({{"id", record.chunks[chunk].id},
                      {"bytes", record.chunk_bytes},
                      {"position", record.chunks[chunk].position},
                      {"holders", record.holders[chunk].tiers},
                      {"staged", record.holders[chunk].staged}});
  }
  return chunks;
}

}  // namespace

std::string StepRecordLine(const StepRecord& record, std::span<const std::string> tier_names) {
  KVS_ASSERT(record.sample != nullptr && record.chunks.size() == record.holders.size());
  const ReadSample& sample = *record.sample;
  const ordered_json line = {{"step", record.step},
                             {"t_s", record.t_s},
                             {"policy", record.policy},
                             {"demand_bytes", record.demand_bytes},
                             {"tiers", TiersJson(sample, tier_names)},
                             {"read_twice_bytes", sample.twice_bytes},
                             {"staged_hit_bytes", sample.staged_bytes},
                             {"missed_chunks", sample.missed.size()},
                             {"retrieval_s", Seconds(sample.retrieval)},
                             {"bound_s", record.bound_s},
                             {"forward_s", record.forward_s},
                             {"write_s", record.write_s},
                             {"new_bytes", record.new_bytes},
                             {"staged_bytes", record.staged_bytes},
                             {"requests", record.requests},
                             {"chunks", ChunksJson(record)}};
  return line.dump() + '\n';
}

}  // namespace kvstream::cli
