#pragma once

#include <span>
#include <string>

#include "kvsim/policy_run.h"
#include "trace/request_trace.h"

namespace kvstream::kvsim {

/// What was simulated: trace and machine, in lines.
std::string DescribeTrace(const trace::RequestTrace& trace);
std::string DescribeMachine(const Setup& setup, uint64_t host_bytes);

/// Policies side by side: one column each, one row a figure.
std::string RunTable(std::span<const PolicyRun> runs);

/// Decimal gigabytes per second, as vendors state them: "13.7 GB/s".
std::string FormatGigabytes(double bytes_per_second);

}  // namespace kvstream::kvsim
