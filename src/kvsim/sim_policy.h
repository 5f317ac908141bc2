#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kvstream/status.h"

#include "sim/device.h"
#include "sim/scenario.h"

namespace kvstream::kvsim {

/// One --policy value: which tiers there are, how they are read, and what is written to them.
struct SimPolicy {
  std::string label;
  bool has_storage = true;            ///< False: "none", the CPU-only baseline.
  std::optional<uint32_t> only_tier;  ///< "single", "serial": the other tiers do not exist.
  bool says_write = false;            ///< By "+WRITE" or --write-policy.
  sim::StorageOptions storage;        ///< Routing, `serial` and write policy.
};

inline constexpr std::string_view kSimPolicyHelp =
    "READ[+WRITE], repeatable. READ: none (CPU-only: evicted prefixes are computed again), "
    "serial[:TIER] (one tier, request by request), single[:TIER] (one tier, a step's reads as one "
    "batch), kvstream[:job|:pool] (completion-driven, pieces), chunks:M (the same, M chunks at a "
    "time), static[:SHARE…], hash[:SHARE…] (by prefix position or hash), roundrobin. WRITE: full "
    "(every tier), once (one tier), when-slow[:FACTOR], fraction[:F[:head|middle|tail]], on-reuse. "
    "Without WRITE: once for static and hash, full for the others. First copies that do not go "
    "to every tier are dealt out by the SHAREs, or in proportion to the tiers' read bandwidth";

/// kInvalidArgument names the text and what is accepted. `tiers` in order; TIER is a name or
/// number.
/// `write` stands for WRITE where the text has none and there are several tiers; empty: see above.
Result<SimPolicy> ParseSimPolicy(std::string_view text, std::span<const sim::TierModel> tiers,
                                 std::string_view write = {});

/// Gives `scenario` the policy's tiers and storage options; what the policy does not say (stage,
/// timing, link) stays as it is. `tiers` are all tiers.
void ApplyPolicy(const SimPolicy& policy, std::span<const sim::TierModel> tiers,
                 sim::Scenario* scenario);

}  // namespace kvstream::kvsim
