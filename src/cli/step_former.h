#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/request_trace.h"

namespace kvstream::cli {

/// Limits of one step's batch. A single request above `tokens_max` makes a step of its own.
struct BatchLimits {
  size_t requests_max = 8;
  uint64_t tokens_max = 64 * 1024;  ///< Prompt tokens.
};

/// Index after the last request of the step that begins with request `begin`. Requests are taken in
/// order, never reordered; a step ends before a second turn of a session it already has, since a
/// turn follows from the answer to the one before. Pure. Requires begin < trace.requests.size().
size_t StepEnd(const trace::RequestTrace& trace, size_t begin, const BatchLimits& limits);

}  // namespace kvstream::cli
