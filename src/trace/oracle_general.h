#pragma once

#include <cstdint>
#include <string>

#include "kvstream/status.h"

#include "trace/request_trace.h"

namespace kvstream::trace {

/// Writes the chunk accesses of a trace as libCacheSim's oracleGeneral, to check an LRU against an
/// outside tool: a packed little-endian record of 24 bytes an access, request by request and front
/// to back: u32 seconds, u64 chunk id, u32 bytes, i64 number (from 1) of the next access to the
/// same chunk or -1. Without times the seconds are the number of the request.
///
/// Replaces the file. Memory: 8 bytes a distinct chunk. Blocks. kIo; kInvalidArgument for a trace
/// without prefixes or chunk bytes that are 0 or do not fit into 32 bits.
Status WriteOracleGeneral(const RequestTrace& trace, uint64_t chunk_bytes, const std::string& path);

}  // namespace kvstream::trace
