#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "kvstream/status.h"

#include "cli/trace_flags.h"
#include "sim/scenario.h"
#include "trace/arrivals.h"
#include "trace/request_trace.h"

namespace kvstream::kvsim {

/// The flags that choose a trace and when its requests arrive. Bind adds them to a command line;
/// the object outlives the parsing.
class TraceInput {
 public:
  void Bind(CLI::App* app);
  void BindArrivals(CLI::App* app);

  /// As recorded. Blocks. Errors name the flag, or file and line.
  Result<trace::RequestTrace> Load() const;

  /// Gives a loaded trace its arrivals: at the rate of --rate, or at `rate_per_s` instead.
  Status Arrive(trace::RequestTrace* trace, std::optional<double> rate_per_s = {}) const;

  /// --turns.
  Result<sim::TurnRule> Turns() const;

  const std::string& source() const { return trace_.source(); }
  const std::string& arrivals() const { return arrivals_; }
  const std::string& rate() const { return rate_; }
  uint64_t seed() const { return trace_.seed(); }

 private:
  Result<trace::ArrivalOptions> ReadArrivals() const;

  cli::TraceFlags trace_;
  std::string arrivals_ = "recorded";
  std::string rate_;
  std::string spread_quantum_ = "0";
  std::string turns_ = "auto";
  double cv_ = 1;
};

}  // namespace kvstream::kvsim
