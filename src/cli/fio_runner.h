#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvstream/status.h"

namespace kvstream::cli {

/// How fio reads: block size, queue depth, and threads that share the depth.
struct FioShape {
  uint64_t block_bytes = 0;
  uint32_t depth = 0;
  std::string engine;  ///< "io_uring", or "psync" with one thread per depth.
};

struct FioResult {
  double bytes_per_second = 0;
  uint64_t bytes = 0;
};

/// True if fio can be started.
bool HasFio();

/// One sequential O_DIRECT read of the files by fio: `bytes` in all, or for `duration` where
/// `bytes` is 0. Blocks. kIo if fio cannot be run or fails; kUnsupported if its output is not
/// understood.
Result<FioResult> RunFio(std::span<const std::filesystem::path> files, const FioShape& shape,
                         uint64_t bytes, std::chrono::milliseconds duration);

/// The fastest of several shapes, tried for `duration` each, with what it reached.
struct FioBest {
  FioShape shape;
  FioResult result;
};
Result<FioBest> FindBestFio(std::span<const std::filesystem::path> files,
                            std::chrono::milliseconds duration);

/// Command line and output, for tests. Pure.
std::vector<std::string> FioArguments(std::span<const std::filesystem::path> files,
                                      const FioShape& shape, uint64_t bytes,
                                      std::chrono::milliseconds duration);
Result<FioResult> ParseFioOutput(std::string_view output);

}  // namespace kvstream::cli
