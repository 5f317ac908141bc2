#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "kvstream/status.h"

namespace kvstream::trace {

/// Largest text of a trace. Beyond it, request and run numbers and zlib's counters could exceed 32
/// bits.
inline constexpr size_t kFileBytesMax = std::numeric_limits<uint32_t>::max();

/// Reads a file, and unpacks it if it is gzip. Blocks. kNotFound, kIo; kInvalidArgument if it is
/// damaged or too large.
Result<std::string> ReadTextFile(const std::string& path);

/// The same for contents in memory; `name` stands in for the path.
Result<std::string> UnpackText(const std::string& name, std::string contents);

bool IsDirectory(const std::string& path);

/// Paths of the regular files of a directory whose names contain one of `endings` (".json",
/// ".jsonl.gz", …) at their end, sorted by name. kNotFound, kIo; kInvalidArgument if there is none.
Result<std::vector<std::string>> FilesIn(const std::string& directory,
                                         const std::vector<std::string>& endings);

}  // namespace kvstream::trace
