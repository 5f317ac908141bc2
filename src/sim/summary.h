#pragma once

#include <string>
#include <vector>

#include "sim/results.h"
#include "sim/scenario.h"

namespace kvstream::sim {

/// Fills the figures that follow from requests and steps alone; storage totals, held turns and
/// decode time must be in `results.summary` already.
void Summarize(const Scenario& scenario, Results& results);

/// What of a scenario and its outcome lies outside of what the model was checked on
/// (docs/model.md), one sentence each.
std::vector<std::string> RangeWarnings(const Scenario& scenario, const Summary& summary);

/// FigureHash of every request and step.
uint64_t HashOf(const Results& results);

}  // namespace kvstream::sim
