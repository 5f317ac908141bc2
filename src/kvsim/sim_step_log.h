#pragma once

#include <span>
#include <string>

#include "kvstream/status.h"

#include "kvsim/policy_run.h"

namespace kvstream::kvsim {

/// One step as a line of docs/step_log.md, ended by '\n'.
std::string StepLine(const PolicyRun& run, const sim::StepResult& step);

/// Writes the steps of all runs, one policy after the other. The runs must have kept their chunks.
/// kIo, naming the file.
Status WriteStepLog(const std::string& path, std::span<const PolicyRun> runs);

}  // namespace kvstream::kvsim
