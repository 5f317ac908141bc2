#include "trace/oracle_general.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <memory>
#include <system_error>
#include <vector>

#include <fmt/format.h>

namespace kvstream::trace {
namespace {

constexpr size_t kRecordBytes = 24;

void PutLittleEndian(uint64_t value, size_t bytes, std::vector<unsigned char>& out) {
  for (size_t i = 0; i < bytes; ++i) out.push_back(static_cast<unsigned char>(value >> (8 * i)));
}

uint32_t Seconds(const RequestTrace& trace, size_t request) {
  constexpr double kMax = std::numeric_limits<uint32_t>::max();
  const double seconds = trace.clock == ArrivalClock::kTrace ? trace.requests[request].arrival_s
                                                             : static_cast<double>(request);
  return static_cast<uint32_t>(std::clamp(seconds, 0.0, kMax));
}

Error WriteError(const std::string& path) {
  const int reason = errno;
  return Error(
      ErrorCode::kIo,
      fmt::format("write {}: {}", path, std::error_code(reason, std::generic_category()).message()),
      reason);
}

/// Goes through the accesses from the last to the first, so that the next access is known.
Status WriteRecords(const RequestTrace& trace, uint64_t chunk_bytes, const std::string& path,
                    std::FILE* file) {
  std::vector<int64_t> next_access(trace.chunk_count, -1);
  uint64_t accesses = 0;
  for (const Request& request : trace.requests) accesses += request.chunk_count;
  std::vector<uint64_t> ids;
  std::vector<int64_t> nexts;
  std::vector<unsigned char> records;
  for (size_t i = trace.requests.size(); i-- > 0;) {
    trace.ChunkIds(trace.requests[i], ids);
    accesses -= ids.size();
    nexts.resize(ids.size());
    for (size_t chunk = ids.size(); chunk-- > 0;) {
      nexts[chunk] = next_access[ids[chunk]];
      next_access[ids[chunk]] = static_cast<int64_t>(accesses + chunk + 1);
    }
    records.clear();
    for (size_t chunk = 0; chunk < ids.size(); ++chunk) {
      PutLittleEndian(Seconds(trace, i), 4, records);
      PutLittleEndian(ids[chunk], 8, records);
      PutLittleEndian(chunk_bytes, 4, records);
      PutLittleEndian(static_cast<uint64_t>(nexts[chunk]), 8, records);
    }
    if (fseeko(file, static_cast<off_t>(accesses * kRecordBytes), SEEK_SET) != 0 ||
        std::fwrite(records.data(), 1, records.size(), file) != records.size()) {
      return WriteError(path);
    }
  }
  return {};
}

}  // namespace

Status WriteOracleGeneral(const RequestTrace& trace, uint64_t chunk_bytes,
                          const std::string& path) {
  if (!trace.has_prefixes) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("{}: lengths only: there are no accesses to write", trace.source));
  }
  if (chunk_bytes == 0 || chunk_bytes > std::numeric_limits<uint32_t>::max()) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("chunks of {} bytes cannot be written; from 1 to {} can", chunk_bytes,
                             std::numeric_limits<uint32_t>::max()));
  }
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return WriteError(path);
  Status written = WriteRecords(trace, chunk_bytes, path, file);
  if (std::fclose(file) != 0 && written) written = WriteError(path);
  return written;
}

}  // namespace kvstream::trace
