#pragma once

#include <string>
#include <string_view>

#include "kvstream/status.h"

#include "sim/bandwidth_series.h"

namespace kvstream::kvsim {

/// Reads the points of one tier from a CSV file with the header `t,tier,read_GBps,write_GBps`:
/// seconds from the start of the run, ascending; 10^9 bytes per second. kNotFound, kIo;
/// kInvalidArgument with file and line. Blocks.
Result<sim::PointsShape> ReadBandwidthFile(const std::string& path, std::string_view tier);

/// The same for contents in memory.
Result<sim::PointsShape> ParseBandwidthFile(std::string_view name, std::string_view text,
                                            std::string_view tier);

}  // namespace kvstream::kvsim
