#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kvstream/status.h"

#include "kvsim/settings.h"
#include "sim/device.h"

namespace kvstream::kvsim {

/// A tier as a device file or a --tier flag says it. docs/kvsim.md has the keys.
struct TierSpec {
  std::string origin;
  std::string folder;  ///< A relative `load.file` starts here.
  std::vector<Setting> settings;
};

inline constexpr std::string_view kTierFlagHelp =
    "NAME=READ[,KEY=VALUE…], bandwidths of the whole node: --tier nvme=7GB/s,write=4GB/s. Once per "
    "tier, the fast one first; after those of --device. Keys: write (READ if absent), capacity, "
    "interference, shared=true, total_read, total_write, latency.median …, load.shape … as in a "
    "device file";

/// The text of one --tier flag. kInvalidArgument.
Result<TierSpec> ParseTierFlag(std::string_view text);

/// Blocks on `load.file`, if there is one. kInvalidArgument, kNotFound, kIo; the message begins
/// with where the mistake stands.
Result<sim::TierModel> BuildTier(const TierSpec& spec);

/// A sentence about what BuildTier assumed for want of a setting; nothing if everything is said.
std::optional<std::string> AssumptionOf(const TierSpec& spec);

}  // namespace kvstream::kvsim
