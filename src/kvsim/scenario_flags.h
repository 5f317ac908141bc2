#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "kvstream/status.h"

#include "kvsim/sim_policy.h"
#include "sim/scenario.h"

namespace kvstream::kvsim {

/// What flags and device file say, but for the trace.
struct Setup {
  sim::Scenario scenario;  ///< Without trace, tiers and the policy's part of `storage`.
  std::vector<sim::TierModel> tiers;
  std::vector<SimPolicy> policies;
  std::string device;              ///< As given; empty: tiers of flags only.
  std::vector<std::string> notes;  ///< What was assumed; whole sentences.
};

/// The flags of the simulated machine. Bind adds them to a command line; the object outlives the
/// parsing.
class ScenarioFlags {
 public:
  void Bind(CLI::App* app);

  /// Host memory stays 0: it is a grid in a sweep. Reads the device file. Errors name the flag, or
  /// file and line.
  Result<Setup> Read() const;

  /// --host-cache as given.
  const std::string& host_cache() const { return host_cache_; }

 private:
  Status ReadServing(Setup* setup) const;
  Status ReadStorage(Setup* setup) const;
  Status ReadTiers(Setup* setup) const;
  Status ReadWarmup(Setup* setup) const;

  std::string model_ = "70B";
  std::string gpu_ = "H100";
  uint32_t ranks_ = 4;
  uint32_t nodes_ = 1;
  std::string gpu_cache_ = "auto";
  std::string host_cache_ = "80GiB";
  uint32_t running_max_ = sim::BatchOptions{}.running_max;
  uint32_t prefill_tokens_max_ = sim::BatchOptions{}.prefill_tokens_max;
  bool store_decoded_ = false;
  std::string device_;
  std::vector<std::string> tiers_;
  std::string gpu_link_;
  std::vector<std::string> policies_;
  std::string write_policy_;
  std::string stage_ = "8GiB";
  std::string stage_full_ = "wait";
  std::string write_timing_ = "deferred";
  std::string warmup_ = "0";
};

}  // namespace kvstream::kvsim
