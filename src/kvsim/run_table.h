#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "kvsim/policy_run.h"
#include "trace/request_trace.h"

namespace kvstream::kvsim {

/// What was simulated: trace and machine, in lines.
std::string DescribeTrace(const trace::RequestTrace& trace);
std::string DescribeMachine(const Setup& setup, uint64_t host_bytes);

/// Policies side by side: one column each, one row a figure.
std::string RunTable(std::span<const PolicyRun> runs);

/// Width of running text.
inline constexpr size_t kTextColumns = 100;

/// A line for each note, and for each different warning of runs with the first policy that has it.
std::string DescribeNotes(const std::vector<std::string>& notes);
std::string DescribeWarnings(std::span<const PolicyRun* const> runs);

/// Decimal gigabytes per second, as vendors state them: "13.7 GB/s".
std::string FormatGigabytes(double bytes_per_second);

}  // namespace kvstream::kvsim
