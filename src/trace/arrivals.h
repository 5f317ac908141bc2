#pragma once

#include <cstdint>

#include "kvstream/status.h"

#include "trace/request_trace.h"

namespace kvstream::trace {

/// When requests arrive. Their order stays as it is.
enum class ArrivalProcess : uint8_t {
  kRecorded,    ///< As in the trace, times `stretch`. Closed loop where the trace has no times.
  kPoisson,     ///< `rate_per_s` requests a second, exponential gaps.
  kGamma,       ///< The same with Gamma distributed gaps of variation `cv`.
  kWeibull,     ///< The same with Weibull distributed gaps of variation `cv`.
  kThinkTime,   ///< Sessions start at `rate_per_s` a second (0: as recorded), exponential gaps; a
                ///< turn comes think_s after the answer to the one before it.
  kClosedLoop,  ///< All requests are there from the start.
};

struct ArrivalOptions {
  ArrivalProcess process = ArrivalProcess::kRecorded;
  double stretch = 1;     ///< kRecorded: 2 halves the rate.
  double rate_per_s = 0;  ///< Kept exactly: the last of n arrives at n / rate.
  double cv = 1;          ///< kGamma, kWeibull: standard deviation of gaps over mean; 0.1 to 20.
  double spread_quantum_s = 0;  ///< kRecorded: times are known to this only; spreads them over it.
  uint64_t seed = 1;
};

/// Gives the requests new arrival times. Afterwards they arrive in serving order by the trace's
/// clock: kTrace, kNone (closed loop) or kSession (think times). Where the serving order is not the
/// recorded one, the recorded times are dealt out in serving order. kInvalidArgument for what the
/// trace does not have (times, sessions, think times) and for values out of range. Pure.
Status ApplyArrivals(RequestTrace& trace, const ArrivalOptions& options);

/// Standard deviation of the gaps between arrivals over their mean; 0 with fewer than two gaps.
double ArrivalVariation(const RequestTrace& trace);

/// The median gap between different arrival times if fewer than one request in four comes at
/// another time than the one before it: a trace that was written with a coarse clock, whose bursts
/// are not real. 0: no such sign.
double ArrivalQuantum(const RequestTrace& trace);

}  // namespace kvstream::trace
