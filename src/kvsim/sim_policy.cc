#include "kvsim/sim_policy.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "cli/policy_arg.h"
#include "kvsim/settings.h"

namespace kvstream::kvsim {
namespace {

using sim::PrefixPart;
using sim::Replication;

Error Refuse(std::string_view text, std::string_view why) {
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("--policy {}: {}; accepted: {}", text, why, kSimPolicyHelp));
}

std::vector<std::string_view> Split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0;;) {
    const size_t end = text.find(':', begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

Status ReadFraction(std::string_view text, std::span<const std::string_view> parts,
                    sim::WriteOptions* write) {
  if (parts.size() > 3) return Refuse(text, "fraction takes two arguments");
  if (parts.size() > 1) {
    const auto fraction = ParseNumber(parts[1]);
    if (!fraction || *fraction < 0 || *fraction > 1) {
      return Refuse(text, fmt::format("'{}' is not a fraction from 0 to 1", parts[1]));
    }
    write->fraction = *fraction;
  }
  if (parts.size() < 3 || parts[2] == "middle") return {};
  if (parts[2] != "head" && parts[2] != "tail") {
    return Refuse(text, fmt::format("'{}' is none of head, middle, tail", parts[2]));
  }
  write->part = parts[2] == "head" ? PrefixPart::kHead : PrefixPart::kTail;
  return {};
}

Status ReadWhenSlow(std::string_view text, std::span<const std::string_view> parts,
                    sim::WriteOptions* write) {
  if (parts.size() == 1) return {};
  const auto factor = ParseNumber(parts[1]);
  if (parts.size() > 2 || !factor || *factor < 1) {
    return Refuse(text, "when-slow takes a factor of 1 or more");
  }
  write->slow_factor = *factor;
  return {};
}

Status ReadWritePolicy(std::string_view text, std::string_view words, sim::WriteOptions* write) {
  static constexpr std::array<std::pair<std::string_view, Replication>, 5> kNames = {
      {{"full", Replication::kFull},
       {"once", Replication::kNone},
       {"when-slow", Replication::kWhenSlow},
       {"fraction", Replication::kFraction},
       {"on-reuse", Replication::kOnReuse}}};
  const std::vector<std::string_view> parts = Split(words);
  const auto name = std::find_if(kNames.begin(), kNames.end(), [&parts](const auto& candidate) {
    return candidate.first == parts[0];
  });
  if (name == kNames.end()) {
    return Refuse(text, fmt::format("unknown write policy '{}'", parts[0]));
  }
  write->replication = name->second;
  if (name->second == Replication::kFraction) return ReadFraction(text, parts, write);
  if (name->second == Replication::kWhenSlow) return ReadWhenSlow(text, parts, write);
  if (parts.size() > 1) return Refuse(text, fmt::format("{} takes no argument", parts[0]));
  return {};
}

bool IsStatic(const RoutingOptions& routing) {
  return routing.policy == Policy::kStaticPosition || routing.policy == Policy::kStaticHash;
}

Status ReadRouting(std::string_view text, std::string_view words,
                   std::span<const sim::TierModel> tiers, SimPolicy* policy) {
  std::vector<TierOptions> named(tiers.size());
  for (size_t tier = 0; tier < tiers.size(); ++tier) named[tier].name = tiers[tier].name;
  constexpr std::string_view kSerial = "serial";
  std::string routing(words);
  if (words == kSerial || words.starts_with("serial:")) {
    policy->storage.serial = true;
    routing = "single" + std::string(words.substr(kSerial.size()));
  }
  auto parsed = cli::ParseRouting(routing, named);
  if (!parsed) return Refuse(text, parsed.error().message());
  if (parsed->policy == Policy::kSingleTier) policy->only_tier = parsed->tier;
  policy->storage.routing = std::move(*parsed);
  return {};
}

void SetPlacement(std::span<const sim::TierModel> tiers, SimPolicy* policy) {
  const RoutingOptions& routing = policy->storage.routing;
  sim::WriteOptions& write = policy->storage.write;
  if (IsStatic(routing)) write.replication = Replication::kNone;
  if (routing.policy == Policy::kStaticHash) write.placement = sim::Placement::kHash;
  write.shares = routing.shares;
  if (IsStatic(routing) || !write.shares.empty()) return;
  for (const sim::TierModel& tier : tiers) write.shares.push_back(tier.series.base.read);
}

}  // namespace

Result<SimPolicy> ParseSimPolicy(std::string_view text, std::span<const sim::TierModel> tiers,
                                 std::string_view write) {
  SimPolicy policy;
  policy.label = text;
  const size_t plus = text.find('+');
  const bool says_write = plus != std::string_view::npos;
  const std::string_view read = text.substr(0, plus);
  if (read == "none") {
    if (says_write) return Refuse(text, "none writes nothing");
    policy.has_storage = false;
    return policy;
  }
  if (tiers.empty()) return Refuse(text, "needs a tier: give --device or --tier");
  KVS_TRY(ReadRouting(text, read, tiers, &policy));
  SetPlacement(tiers, &policy);
  if (says_write && policy.only_tier) return Refuse(text, "one tier has one way to write");
  if (says_write) write = text.substr(plus + 1);
  if (write.empty() && !says_write) return policy;
  if (policy.only_tier) return policy;
  policy.says_write = true;
  KVS_TRY(ReadWritePolicy(text, write, &policy.storage.write));
  return policy;
}

void ApplyPolicy(const SimPolicy& policy, std::span<const sim::TierModel> tiers,
                 sim::Scenario* scenario) {
  scenario->tiers.clear();
  if (!policy.has_storage) return;
  const sim::StorageOptions given = scenario->storage;
  scenario->storage = policy.storage;
  scenario->storage.link_bytes_per_second = given.link_bytes_per_second;
  scenario->storage.write.timing = given.write.timing;
  scenario->storage.write.full = given.write.full;
  scenario->storage.write.stage_bytes = given.write.stage_bytes;
  if (policy.only_tier) {
    scenario->tiers.push_back(tiers[*policy.only_tier]);
    scenario->storage.routing.tier = 0;
    scenario->storage.write.shares.clear();
    return;
  }
  scenario->tiers.assign(tiers.begin(), tiers.end());
}

}  // namespace kvstream::kvsim
