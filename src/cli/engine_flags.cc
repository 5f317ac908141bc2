#include "cli/engine_flags.h"

namespace kvstream::cli {
namespace {

constexpr size_t kHelpColumn = 34;

}  // namespace

void EngineFlags::Bind(CLI::App* app) {
  app->get_formatter()->column_width(kHelpColumn);
  app->add_option("--tier", tiers_, std::string(kTierHelp))->group("Tiers")->type_name("SPEC");
  app->add_option(
         "--config", config_,
         "TOML file: [[tier]] tables with name, dir and the keys of --tier, and one [engine] "
         "table with the keys of the group Engine. Tiers of flags come after those of the file")
      ->group("Tiers")
      ->type_name("FILE");
  app->add_option("--policy", policies_,
                  "Repeatable; run interleaved on the same tiers: " + std::string(kPolicyHelp))
      ->group("Tiers")
      ->type_name("POLICY");
  for (const EngineKey& key : EngineKeys()) {
    app->add_option("--" + std::string(key.key), settings_[key.key], std::string(key.help))
        ->group("Engine")
        ->type_name("");
  }
  // One value an occurrence, so that what follows is not swallowed.
  app->get_option("--tier")->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app->get_option("--policy")->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

Result<EngineArgs> EngineFlags::Read() const {
  EngineArgs args;
  if (!config_.empty()) KVS_TRY(ReadConfigFile(config_, &args));
  for (const std::string& text : tiers_) {
    KVS_TRY_ASSIGN(TierArg tier, ParseTierFlag(text));
    args.tiers.push_back(std::move(tier));
  }
  for (const auto& [key, value] : settings_) {
    if (value.empty()) continue;
    if (auto set = SetEngineKey(key, value, &args); !set) {
      return std::move(set).error().WithContext("--" + std::string(key));
    }
  }
  return args;
}

Result<std::vector<PolicyArg>> EngineFlags::ReadPolicies(
    const EngineArgs& args, const std::vector<std::string>& defaults) const {
  std::vector<TierOptions> tiers;
  for (const TierArg& tier : args.tiers) tiers.push_back(tier.options);
  std::vector<PolicyArg> policies;
  for (const std::string& text : policies_.empty() ? defaults : policies_) {
    KVS_TRY_ASSIGN(PolicyArg policy, ParsePolicy(text, tiers, args.order));
    policies.push_back(std::move(policy));
  }
  return policies;
}

}  // namespace kvstream::cli
