#include "sim/step_log_reader.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "kvstream/engine.h"

#include "trace/files.h"
#include "trace/json_lines.h"

namespace kvstream::sim {
namespace {

using trace::JsonLines;

constexpr uint64_t kBytesMax = uint64_t{1} << 50;
// Two weeks; sums over the steps of a log stay far below the clock's 292 years.
constexpr double kRetrievalSecondsMax = 1.2e6;

class StepLogParser {
 public:
  explicit StepLogParser(JsonLines lines) : lines_(std::move(lines)) {}

  Result<StepLog> Parse();

 private:
  Result<LoggedStep> ParseStep(const JsonLines::Object& object);
  Status ParsePolicy(const JsonLines::Object& object, LoggedStep* step);
  Status ParseTiers(const JsonLines::Object& object, LoggedStep* step);
  Status ParseChunks(const JsonLines::Object& object, LoggedStep* step);
  Result<LoggedChunk> ParseChunk(const JsonLines::Object& object, uint64_t step);
  Result<std::string> Text(const JsonLines::Object& object, std::string_view field) const;
  Result<bool> Truth(const JsonLines::Object& object, std::string_view field) const;
  Result<JsonLines::Object> AsObject(const JsonLines::Element& element,
                                     std::string_view what) const;

  JsonLines lines_;
  StepLog log_;
  std::unordered_map<uint64_t, uint32_t> dense_ids_;
  std::vector<uint64_t> seen_in_line_;  // by dense id, counting lines from 1
};

Result<StepLog> StepLogParser::Parse() {
  while (true) {
    KVS_TRY_ASSIGN(const std::optional<JsonLines::Object> object, lines_.Next());
    if (!object) break;
    KVS_TRY_ASSIGN(LoggedStep step, ParseStep(*object));
    log_.steps.push_back(std::move(step));
  }
  if (log_.steps.empty()) return lines_.Fail("the step log has no lines");
  log_.chunk_count = static_cast<uint32_t>(dense_ids_.size());
  return std::move(log_);
}

Result<LoggedStep> StepLogParser::ParseStep(const JsonLines::Object& object) {
  LoggedStep step;
  KVS_TRY_ASSIGN(step.step, lines_.IntegerField(object, "step", {.max = kBytesMax}));
  KVS_TRY_ASSIGN(step.requests, lines_.IntegerField(object, "requests", {.max = kBytesMax}));
  KVS_TRY_ASSIGN(step.demand_bytes,
                 lines_.IntegerField(object, "demand_bytes", {.max = kBytesMax}));
  KVS_TRY_ASSIGN(step.new_bytes, lines_.IntegerField(object, "new_bytes", {.max = kBytesMax}));
  KVS_TRY_ASSIGN(step.retrieval_s, lines_.NumberField(object, "retrieval_s"));
  if (step.retrieval_s > kRetrievalSecondsMax) {
    return lines_.Fail(fmt::format("'retrieval_s' is {:g}, more than {:g}", step.retrieval_s,
                                   kRetrievalSecondsMax));
  }
  KVS_TRY_ASSIGN(step.forward_s, lines_.NumberField(object, "forward_s"));
  KVS_TRY(ParsePolicy(object, &step));
  KVS_TRY(ParseTiers(object, &step));
  if (lines_.Has(object, "chunks")) KVS_TRY(ParseChunks(object, &step));
  return step;
}

Status StepLogParser::ParsePolicy(const JsonLines::Object& object, LoggedStep* step) {
  KVS_TRY_ASSIGN(std::string policy, Text(object, "policy"));
  const auto found = std::ranges::find(log_.policies, policy);
  step->policy = static_cast<uint32_t>(found - log_.policies.begin());
  if (found == log_.policies.end()) log_.policies.push_back(std::move(policy));
  return {};
}

Status StepLogParser::ParseTiers(const JsonLines::Object& object, LoggedStep* step) {
  KVS_TRY_ASSIGN(const JsonLines::Array tiers, lines_.ArrayField(object, "tiers"));
  std::vector<std::string> names;
  for (const JsonLines::Element element : tiers) {
    KVS_TRY_ASSIGN(const JsonLines::Object tier, AsObject(element, "tiers"));
    KVS_TRY_ASSIGN(std::string name, Text(tier, "name"));
    LoggedTier logged;
    KVS_TRY_ASSIGN(logged.read_bytes, lines_.IntegerField(tier, "read_bytes", {.max = kBytesMax}));
    KVS_TRY_ASSIGN(logged.read_busy_s, lines_.NumberField(tier, "read_busy_s"));
    KVS_TRY_ASSIGN(logged.written_bytes,
                   lines_.IntegerField(tier, "written_bytes", {.max = kBytesMax}));
    KVS_TRY_ASSIGN(logged.write_busy_s, lines_.NumberField(tier, "write_busy_s"));
    step->tiers.push_back(logged);
    names.push_back(std::move(name));
    if (names.size() > kTiersMax) return lines_.Fail("more tiers than 8");
  }
  if (names.empty()) return lines_.Fail("no tiers");
  if (log_.steps.empty()) log_.tier_names = names;
  if (names != log_.tier_names) return lines_.Fail("other tiers than on the first line");
  return {};
}

Status StepLogParser::ParseChunks(const JsonLines::Object& object, LoggedStep* step) {
  KVS_TRY_ASSIGN(const JsonLines::Array chunks, lines_.ArrayField(object, "chunks"));
  const uint64_t line = log_.steps.size() + 1;
  uint64_t bytes = 0;
  for (const JsonLines::Element element : chunks) {
    KVS_TRY_ASSIGN(const JsonLines::Object entry, AsObject(element, "chunks"));
    KVS_TRY_ASSIGN(const LoggedChunk chunk, ParseChunk(entry, line));
    bytes += chunk.bytes;
    step->chunks.push_back(chunk);
  }
  if (bytes != step->demand_bytes) {
    return lines_.Fail(
        fmt::format("the chunks have {} bytes, 'demand_bytes' says {}", bytes, step->demand_bytes));
  }
  return {};
}

Result<LoggedChunk> StepLogParser::ParseChunk(const JsonLines::Object& object, uint64_t line) {
  LoggedChunk chunk;
  KVS_TRY_ASSIGN(const uint64_t id, lines_.IntegerField(object, "id", {}));
  KVS_TRY_ASSIGN(chunk.bytes,
                 lines_.IntegerField(object, "bytes", {.min = 1, .max = kChunkBytesMax}));
  KVS_TRY_ASSIGN(const uint64_t position,
                 lines_.IntegerField(object, "position", {.max = UINT32_MAX - 1}));
  const uint64_t holders_max = (uint64_t{1} << log_.tier_names.size()) - 1;
  KVS_TRY_ASSIGN(const uint64_t holders,
                 lines_.IntegerField(object, "holders", {.max = holders_max}));
  KVS_TRY_ASSIGN(chunk.staged, Truth(object, "staged"));
  chunk.position = static_cast<uint32_t>(position);
  chunk.holders = static_cast<TierMask>(holders);
  chunk.id = dense_ids_.try_emplace(id, static_cast<uint32_t>(dense_ids_.size())).first->second;
  if (chunk.id == seen_in_line_.size()) seen_in_line_.push_back(0);
  if (std::exchange(seen_in_line_[chunk.id], line) == line) {
    return lines_.Fail(fmt::format("chunk {} is listed twice", id));
  }
  return chunk;
}

Result<std::string> StepLogParser::Text(const JsonLines::Object& object,
                                        std::string_view field) const {
  KVS_TRY_ASSIGN(const JsonLines::Element element, lines_.Field(object, field));
  std::string_view text;
  if (element.get(text) != simdjson::SUCCESS || text.empty()) {
    return lines_.Fail(fmt::format("'{}' must be a text that is not empty", field));
  }
  return std::string(text);
}

Result<bool> StepLogParser::Truth(const JsonLines::Object& object, std::string_view field) const {
  KVS_TRY_ASSIGN(const JsonLines::Element element, lines_.Field(object, field));
  bool value = false;
  if (element.get(value) != simdjson::SUCCESS) {
    return lines_.Fail(fmt::format("'{}' must be true or false", field));
  }
  return value;
}

Result<JsonLines::Object> StepLogParser::AsObject(const JsonLines::Element& element,
                                                  std::string_view what) const {
  JsonLines::Object object;
  if (element.get(object) != simdjson::SUCCESS) {
    return lines_.Fail(fmt::format("'{}' must be an array of objects", what));
  }
  return object;
}

}  // namespace

Result<StepLog> LoadStepLog(const std::string& path) {
  KVS_TRY_ASSIGN(std::string contents, trace::ReadTextFile(path));
  return ParseStepLog(path, std::move(contents));
}

Result<StepLog> ParseStepLog(std::string_view name, std::string contents) {
  return StepLogParser(JsonLines(std::string(name), std::move(contents))).Parse();
}

}  // namespace kvstream::sim
