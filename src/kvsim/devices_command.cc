#include "kvsim/devices_command.h"

#include <cstdio>
#include <string>

#include <fmt/core.h>

#include "base/units.h"
#include "cli/command_line.h"
#include "cli/text_table.h"
#include "kvsim/command_end.h"
#include "kvsim/device_file.h"
#include "kvsim/run_table.h"

namespace kvstream::kvsim {
namespace {

Status PrintList() {
  cli::TextTable table({"device", "tier", "read", "write", "capacity", "shared"});
  std::string descriptions;
  for (const ShippedDevice& shipped : ShippedDevices()) {
    KVS_TRY_ASSIGN(const DeviceFile device, ParseDevice(shipped.name, shipped.text));
    descriptions += fmt::format("{}: {}\n", shipped.name, device.description);
    for (const TierSpec& spec : device.tiers) {
      KVS_TRY_ASSIGN(const sim::TierModel tier, BuildTier(spec));
      const bool limited = tier.capacity_bytes != sim::TierModel{}.capacity_bytes;
      table.AddRow({std::string(shipped.name), tier.name, FormatGigabytes(tier.series.base.read),
                    FormatGigabytes(tier.series.base.write),
                    limited ? base::FormatBytes(tier.capacity_bytes) : "no limit",
                    tier.shared ? "by all nodes" : ""});
    }
  }
  fmt::print("{}\n{}\nkvsim devices NAME prints the file, with the source of each figure.\n",
             table.Render(), descriptions);
  return {};
}

Status PrintDevice(const std::string& name) {
  for (const ShippedDevice& shipped : ShippedDevices()) {
    if (shipped.name != name) continue;
    fmt::print("{}", shipped.text);
    return {};
  }
  return Error(ErrorCode::kNotFound, fmt::format("no shipped device '{}'", name));
}

}  // namespace

int DevicesCommand(int argc, const char* const* argv) {
  std::string name;
  CLI::App app("Lists the device files that are part of the program, or prints one.",
               "kvsim devices");
  app.add_option("name", name, "Prints this one's file");
  if (const auto code = cli::ParseCommandLine(&app, argc, argv)) return *code;
  return EndCommand("devices", name.empty() ? PrintList() : PrintDevice(name));
}

}  // namespace kvstream::kvsim
