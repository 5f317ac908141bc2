#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/command_line.h"
#include "cli/policy_arg.h"
#include "cli/tier_config.h"

namespace kvstream::cli {

/// The flags that every command with an engine has, as text. Bind adds them to a command line; the
/// object outlives the parsing. Read turns them into options.
class EngineFlags {
 public:
  void Bind(CLI::App* app);

  /// Config file first, then flags. Errors name the flag or file and line.
  Result<EngineArgs> Read() const;
  /// The --policy values; `defaults` where there is none.
  Result<std::vector<PolicyArg>> ReadPolicies(const EngineArgs& args,
                                              const std::vector<std::string>& defaults) const;

 private:
  std::string config_;
  std::vector<std::string> tiers_;
  std::vector<std::string> policies_;
  std::map<std::string_view, std::string> settings_;  // by EngineKey; empty: not given
};

}  // namespace kvstream::cli
