#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvstream/status.h"

#include "kvsim/tier_spec.h"

namespace kvstream::kvsim {

/// A node's storage: what a device file (docs/kvsim.md) says. Tiers are not yet built.
struct DeviceFile {
  std::string description;
  std::optional<double> gpu_link;  ///< Host memory to one GPU, bytes per second.
  std::vector<TierSpec> tiers;
};

/// A device file that is part of the program.
struct ShippedDevice {
  std::string_view name;
  std::string_view text;
};
std::span<const ShippedDevice> ShippedDevices();

/// `device` is the name of a shipped device or the path of a file. Unknown keys are refused.
/// kInvalidArgument with file and line; kNotFound, naming the shipped ones; kIo. Blocks.
Result<DeviceFile> LoadDevice(const std::string& device);

/// The same for text in memory; `name` stands for the path in messages.
Result<DeviceFile> ParseDevice(std::string_view name, std::string_view text);

}  // namespace kvstream::kvsim
