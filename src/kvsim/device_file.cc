#include "kvsim/device_file.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/core.h>
#include <toml++/toml.h>

#include "trace/files.h"

namespace kvstream::kvsim {
namespace {

Error Invalid(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

std::string Place(std::string_view file, const toml::node& node) {
  return fmt::format("{}:{}", file, node.source().begin.line);
}

// A scalar as it would stand on a command line.
Result<std::string> ScalarText(std::string_view file, std::string_view key,
                               const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* flag = node.as_boolean()) return std::string(flag->get() ? "true" : "false");
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  return Invalid(
      fmt::format("{}: {}: expected a string, a number or a boolean", Place(file, node), key));
}

// Tables of a tier become keys with a dot: latency = { median = … } is latency.median.
Status Flatten(std::string_view file, const std::string& prefix, const toml::table& table,
               std::vector<Setting>* settings) {
  for (const auto& [key, value] : table) {
    const std::string name = prefix + std::string(key.str());
    if (const toml::table* inner = value.as_table(); inner != nullptr && prefix.empty()) {
      KVS_TRY(Flatten(file, name + ".", *inner, settings));
      continue;
    }
    KVS_TRY_ASSIGN(std::string text, ScalarText(file, name, value));
    settings->push_back({name, std::move(text), Place(file, value)});
  }
  return {};
}

Status ReadTiers(std::string_view file, const toml::node& node, DeviceFile* device) {
  const toml::array* tiers = node.as_array();
  const bool tables =
      tiers != nullptr &&
      std::all_of(tiers->begin(), tiers->end(), [](const auto& tier) { return tier.is_table(); });
  if (!tables) return Invalid(Place(file, node) + ": tier: expected tables, [[tier]]");
  for (const toml::node& tier : *tiers) {
    TierSpec spec;
    spec.origin = Place(file, tier);
    spec.folder = std::filesystem::path(file).parent_path().string();
    KVS_TRY(Flatten(file, "", *tier.as_table(), &spec.settings));
    device->tiers.push_back(std::move(spec));
  }
  return {};
}

Result<DeviceFile> ReadRoot(std::string_view file, const toml::table& root) {
  DeviceFile device;
  std::vector<Setting> settings;
  for (const auto& [key, value] : root) {
    if (key.str() == "tier") {
      KVS_TRY(ReadTiers(file, value, &device));
      continue;
    }
    KVS_TRY_ASSIGN(std::string text, ScalarText(file, key.str(), value));
    settings.push_back({std::string(key.str()), std::move(text), Place(file, value)});
  }
  KVS_TRY_ASSIGN(Settings top, Settings::Make(std::move(settings)));
  KVS_TRY(top.ReadText("description", &device.description));
  double gpu_link = 0;
  KVS_TRY(top.ReadBandwidth("gpu_link", &gpu_link));
  if (top.Has("gpu_link")) {
    if (gpu_link <= 0) return top.Refuse("gpu_link", "must be above 0");
    device.gpu_link = gpu_link;
  }
  KVS_TRY(top.CheckAllKnown());
  if (device.tiers.empty()) return Invalid(fmt::format("{}: no [[tier]]", file));
  return device;
}

}  // namespace

Result<DeviceFile> ParseDevice(std::string_view name, std::string_view text) {
  try {
    return ReadRoot(name, toml::parse(text, name));
  } catch (const toml::parse_error& error) {
    return Invalid(fmt::format("{}:{}: {}", name, error.source().begin.line, error.description()));
  }
}

Result<DeviceFile> LoadDevice(const std::string& device) {
  std::string names;
  for (const ShippedDevice& shipped : ShippedDevices()) {
    if (shipped.name == device) return ParseDevice(device, shipped.text);
    names += fmt::format("{}{}", names.empty() ? "" : ", ", shipped.name);
  }
  auto text = trace::ReadTextFile(device);
  if (text) return ParseDevice(device, *text);
  if (text.error().code() != ErrorCode::kNotFound) return std::move(text).error();
  return Error(
      ErrorCode::kNotFound,
      fmt::format("--device {}: no such file, and none of the shipped devices: {}", device, names));
}

}  // namespace kvstream::kvsim
