#pragma once

#include <span>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "cli/step_metrics.h"

namespace kvstream::cli {

/// Policies side by side: one column each, one row a figure. `tier_names` in the engine's order.
std::string PolicyTable(std::span<const PolicyTotals> policies,
                        std::span<const std::string> tier_names);

/// The same figures, in bytes and seconds, one object a policy.
nlohmann::json PolicyJson(std::span<const PolicyTotals> policies,
                          std::span<const std::string> tier_names);

/// Counters of the whole run, shared by all policies: writes, evictions, errors, stage.
std::string EngineTable(const Stats& stats);
nlohmann::json EngineJson(const Stats& stats);

}  // namespace kvstream::cli
