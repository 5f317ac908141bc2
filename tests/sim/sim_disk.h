#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/prng.h"
#include "testing/sim_io.h"

namespace kvstream::test {

inline constexpr char kSimRoot[] = "/tier";

/// What a tier is made of in a simulation: files, a device for reads and one for writes, and their
/// faults. One thread.
struct SimDisk {
  SimDisk(uint64_t seed, uint64_t device_number, uint64_t file_system_bytes);

  /// Bytes of chunk files and temporary files.
  uint64_t ChunkBytes();
  /// Those of other owners left out.
  uint64_t OwnedBytes();
  std::vector<std::string> TempFiles() const;
  std::vector<std::string> ChunkFiles() const;
  bool IsForeign(const std::string& path);
  void ClearFaults();

  FaultPlan transfer_faults;  ///< Of what backends move; may hang.
  FaultPlan file_faults;      ///< Of all else; nothing there may hang, since there is one thread.
  SimFileSystem files;
  SimDevice read_device;
  SimDevice write_device;
  std::set<uint64_t> foreign_inodes;
  bool unlinks_reliable = true;   ///< Cleared when files may have been left behind.
  bool contents_reliable = true;  ///< Cleared when files may have changed under the index.
};

/// What a crash at this instant leaves: names as they are, temporary files in any state. After a
/// power cut published files may have lost their contents too.
std::unique_ptr<SimDisk> CrashCopy(SimDisk& disk, uint64_t seed, bool power_cut);

}  // namespace kvstream::test
