#pragma once

#include "kvstream/status.h"

#include "sim/results.h"
#include "sim/scenario.h"

namespace kvstream::sim {

/// Runs a scenario to its last token and last write. kInvalidArgument: the scenario is not valid.
/// kCorruption: a conservation check failed, or requests never finished; both are faults of the
/// simulator, and there are no results. Pure; any thread.
Result<Results> Run(const Scenario& scenario);

}  // namespace kvstream::sim
