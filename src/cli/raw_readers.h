#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "kvstream/options.h"
#include "kvstream/status.h"

#include "cli/delivery_curve.h"

namespace kvstream::cli {

/// One tier as raw readers see it: files and a way to read them; no index, no checksums, no
/// routing.
struct RawTier {
  std::string name;
  std::vector<std::filesystem::path> files;
  BackendKind backend = BackendKind::kUring;  ///< Not kAuto.
  ShapeOptions shape;
};

/// The chunk files (*.kv) of at least `bytes_min` under a tier's directory, in the order of their
/// names, at most 256. kNotFound if there is none; kIo. Blocks.
Result<std::vector<std::filesystem::path>> FindChunkFiles(const std::filesystem::path& directory,
                                                          uint64_t bytes_min);

struct RawReadOptions {
  uint32_t block_bytes = 1 * kMiB;
  uint32_t depth = 16;
};

/// Reads all tiers at the same time, each with one thread, a queue that is always full, and
/// O_DIRECT where the file system takes it, round and round through its files. Nobody stops before
/// every set of tiers has delivered what only it holds (`bytes_by_holders` as in
/// model::PartialCopyBound), so that each curve tells what its tier can do while the others read as
/// well. Blocks. kIo names the file; SIGINT ends it early.
Result<std::vector<DeliveryCurve>> ReadRaw(std::span<const RawTier> tiers,
                                           std::span<const uint64_t> bytes_by_holders,
                                           const RawReadOptions& options);

}  // namespace kvstream::cli
