#pragma once

#include <span>
#include <string>

#include "kvstream/status.h"

#include "kvsim/policy_run.h"

namespace kvstream::kvsim {

/// One step as a line of docs/step_log.md, ended by '\n'. Every line of a log has all tiers of the
/// setup, also those that the policy does not have.
std::string StepLine(const Setup& setup, const PolicyRun& run, const sim::StepResult& step);

/// Writes the steps of all runs, one policy after the other. The runs must have kept their chunks.
/// kIo, naming the file.
Status WriteStepLog(const std::string& path, const Setup& setup, std::span<const PolicyRun> runs);

}  // namespace kvstream::kvsim
