#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvstream/options.h"
#include "kvstream/status.h"

namespace kvstream::cli {

/// What the user said about tiers and engine, from flags and a TOML file alike: both are lists of
/// `key = value` that end in SetTierKey and SetEngineKey. Every failure is kInvalidArgument or
/// kNotFound, and its message begins with where the text stands ("tiers.toml:3", "--tier nvme").

struct TierArg {
  TierOptions options;
  std::string origin;  ///< Where it was said, for messages.
};

struct EngineArgs {
  std::vector<TierArg> tiers;
  EngineOptions options;  ///< Without tiers; see MakeEngineOptions.
  PoolOrder order = PoolOrder::kJob;
  /// Deadline of one step's reads; 0: none.
  std::chrono::nanoseconds deadline{0};
};

/// One setting that SetEngineKey knows, for --help.
struct EngineKey {
  std::string_view key;
  std::string_view help;
};
std::span<const EngineKey> EngineKeys();

inline constexpr std::string_view kTierHelp =
    "NAME=DIR,capacity=SIZE[,limit=BW][,write-limit=BW][,latency=TIME][,landing=auto|direct|bounce]"
    "[,backend=auto|uring|threads][,window=SIZE][,shared]; once per tier, the fast one first. "
    "`limit` shapes reads and, without write-limit, writes";

/// Sets one key; `value` as it would stand on a command line. Messages do not yet have the place.
Status SetTierKey(std::string_view key, std::string_view value, TierOptions* tier);
Status SetEngineKey(std::string_view key, std::string_view value, EngineArgs* args);

/// Reads the value of one --tier flag (kTierHelp). A directory cannot contain a comma.
Result<TierArg> ParseTierFlag(std::string_view text);

/// Everything about the tiers that can be checked without writing: at least one and at most
/// kTiersMax, names, existing directories, none the same as or inside another, capacity for a chunk
/// of `chunk_bytes`. Reads the file system.
Status CheckTiers(std::span<const TierArg> tiers, uint64_t chunk_bytes);

/// `args` as the engine wants it.
EngineOptions MakeEngineOptions(const EngineArgs& args);

/// Adds the settings of a TOML file: [[tier]] tables with the keys of --tier, plus `name` and
/// `dir`, and one [engine] table. Values are strings, numbers or booleans. Blocks.
Status ReadConfigFile(const std::string& path, EngineArgs* args);
/// The same for text in memory; `name` stands for the path in messages.
Status ParseConfig(std::string_view name, std::string_view text, EngineArgs* args);

}  // namespace kvstream::cli
