#pragma once

#include <nlohmann/json_fwd.hpp>

#include "kvsim/demand_curve.h"
#include "kvsim/policy_run.h"
#include "trace/request_trace.h"

namespace kvstream::kvsim {

/// Parts of the JSON summary, whose schema is in docs/kvsim.md. Bytes, seconds.

nlohmann::json TraceJson(const trace::RequestTrace& trace);
nlohmann::json ModelJson(const Setup& setup);
nlohmann::json SetupJson(const Setup& setup);
/// The figures of a run, without curves.
nlohmann::json SummaryJson(const PolicyRun& run);
/// What plots need: quantiles of TTFT, sums over slices of time, the share of tier 0.
nlohmann::json CurvesJson(const PolicyRun& run);
nlohmann::json DemandCurveJson(const DemandCurve& curve);

}  // namespace kvstream::kvsim
