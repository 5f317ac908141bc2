#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/bench.h"
#include "cli/chunk_writer.h"
#include "cli/raw_readers.h"
#include "cli/session.h"
#include "cli/step_metrics.h"
#include "cli/step_reader.h"

namespace kvstream::cli {

/// What the modes of bench share: an engine, its chunks, and one measured read. Not thread-safe.
class BenchContext {
 public:
  /// Both outlive the object; tables go to `out`.
  BenchContext(const BenchOptions& options, Session& session, std::FILE* out);

  /// Puts every chunk on every tier, then takes the copies of BenchOptions::evict away. Blocks for
  /// as long as the tiers take to write. kNoSpace if a tier cannot hold all chunks.
  Status Prepare();

  /// Waits for BenchOptions::idle and align, then reads all chunks and compares every byte.
  /// kCorruption.
  Result<ReadSample> Read();

  /// As Read does before it starts.
  void Pause() const;

  /// The chunks by their holders, now.
  HolderBytes Holders();
  /// The tiers as raw readers see them, now.
  Result<std::vector<RawTier>> RawTiers() const;

  /// Removes everything that Prepare wrote.
  Status RemoveAll() { return session_.Remove(keys_); }

  /// A key that no other call returns.
  ChunkKey FreshKey();

  const BenchOptions& options() const { return options_; }
  Session& session() { return session_; }
  std::FILE* out() const { return out_; }
  const std::vector<std::string>& tier_names() const { return tier_names_; }
  uint64_t step_bytes() const { return uint64_t{options_.chunks} * options_.chunk_bytes; }

 private:
  Status WriteMissing();
  Status Evict(const Eviction& eviction);

  const BenchOptions& options_;
  Session& session_;
  std::FILE* out_;
  StepReader reader_;
  ChunkWriter writer_;
  std::vector<ChunkKey> keys_;
  std::vector<std::string> tier_names_;
  uint64_t fresh_keys_ = 0;
};

/// One function a mode: measures, prints its table, adds its figures to `summary`. SIGINT ends it
/// early, with what was measured until then.
Status BenchSteps(BenchContext& bench, nlohmann::json* summary);
Status BenchSingle(BenchContext& bench, nlohmann::json* summary);
Status BenchPut(BenchContext& bench, nlohmann::json* summary);
Status BenchFlood(BenchContext& bench, nlohmann::json* summary);

}  // namespace kvstream::cli
