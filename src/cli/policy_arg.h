#pragma once

#include <span>
#include <string>
#include <string_view>

#include "kvstream/options.h"
#include "kvstream/status.h"

namespace kvstream::cli {

/// One `--policy` value: how reads are routed, and the label it has in tables and logs.
struct PolicyArg {
  std::string label;
  RoutingOptions routing;
};

/// What ParsePolicy accepts, for --help.
inline constexpr std::string_view kPolicyHelp =
    "kvstream[:job|:pool] (each tier claims pieces as it finishes), chunks:M (M whole chunks at a "
    "time, "
    "one pool), single[:TIER], static[:SHARE:SHARE...] (by position), hash[:SHARE:SHARE...], "
    "roundrobin";

/// How one policy routes reads. kInvalidArgument says why not, and nothing else.
Result<RoutingOptions> ParseRouting(std::string_view text, std::span<const TierOptions> tiers,
                                    PoolOrder order = PoolOrder::kJob);

/// Reads one policy. `order` is what plain "kvstream" gets; tiers are named by name or number.
/// kInvalidArgument names the text and what is accepted.
Result<PolicyArg> ParsePolicy(std::string_view text, std::span<const TierOptions> tiers,
                              PoolOrder order = PoolOrder::kJob);

}  // namespace kvstream::cli
