#include "cli/policy_arg.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

namespace kvstream::cli {
namespace {

using Parts = std::vector<std::string_view>;

Parts Split(std::string_view text, char separator) {
  Parts parts;
  for (size_t begin = 0;;) {
    const size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

Error Refuse(std::string why) { return {ErrorCode::kInvalidArgument, std::move(why)}; }

template <typename Number>
std::optional<Number> ParseNumber(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<uint32_t> FindTier(std::string_view text, std::span<const TierOptions> tiers) {
  for (size_t tier = 0; tier < tiers.size(); ++tier) {
    if (tiers[tier].name == text) return static_cast<uint32_t>(tier);
  }
  const auto number = ParseNumber<uint32_t>(text);
  return number && *number < tiers.size() ? number : std::nullopt;
}

Status SetShares(const Parts& parts, size_t tier_count, RoutingOptions* routing) {
  if (parts.size() == 1) return {};
  double sum = 0;
  for (size_t part = 1; part < parts.size(); ++part) {
    const auto share = ParseNumber<double>(parts[part]);
    if (!share || !std::isfinite(*share) || *share < 0) {
      return Refuse(fmt::format("share \"{}\" is not a number of 0 or more", parts[part]));
    }
    routing->shares.push_back(*share);
    sum += *share;
  }
  if (routing->shares.size() != tier_count) {
    return Refuse(fmt::format("{} shares for {} tiers", routing->shares.size(), tier_count));
  }
  if (!(sum > 0)) return Refuse("all shares are 0");
  return {};
}

Status SetOrder(const Parts& parts, RoutingOptions* routing) {
  if (parts.size() == 1) return {};
  if (parts.size() > 2 || (parts[1] != "pool" && parts[1] != "job")) {
    return Refuse("the order is job or pool");
  }
  routing->order = parts[1] == "pool" ? PoolOrder::kPool : PoolOrder::kJob;
  return {};
}

Status SetTier(const Parts& parts, std::span<const TierOptions> tiers, RoutingOptions* routing) {
  if (parts.size() == 1) return {};
  const auto tier = parts.size() == 2 ? FindTier(parts[1], tiers) : std::nullopt;
  if (!tier)
    return Refuse(fmt::format("no tier \"{}\"", fmt::join(parts.begin() + 1, parts.end(), ":")));
  routing->tier = *tier;
  return {};
}

Status SetClaim(const Parts& parts, RoutingOptions* routing) {
  const auto chunks = parts.size() == 2 ? ParseNumber<uint32_t>(parts[1]) : std::nullopt;
  if (!chunks || *chunks == 0) return Refuse("M is a number of 1 or more");
  routing->claim_chunks = *chunks;
  routing->order = PoolOrder::kPool;
  return {};
}

Status SetRouting(std::string_view text, std::span<const TierOptions> tiers,
                  RoutingOptions* routing) {
  const Parts parts = Split(text, ':');
  const std::string_view name = parts[0];
  if (name == "kvstream") return SetOrder(parts, routing);
  if (name == "chunks") return SetClaim(parts, routing);
  if (name == "single") {
    routing->policy = Policy::kSingleTier;
    return SetTier(parts, tiers, routing);
  }
  if (name == "static" || name == "hash") {
    routing->policy = name == "static" ? Policy::kStaticPosition : Policy::kStaticHash;
    return SetShares(parts, tiers.size(), routing);
  }
  if (name != "roundrobin") return Refuse("unknown policy");
  if (parts.size() > 1) return Refuse("roundrobin takes no argument");
  routing->policy = Policy::kRoundRobin;
  return {};
}

}  // namespace

Result<RoutingOptions> ParseRouting(std::string_view text, std::span<const TierOptions> tiers,
                                    PoolOrder order) {
  RoutingOptions routing;
  routing.order = order;
  KVS_TRY(SetRouting(text, tiers, &routing));
  return routing;
}

Result<PolicyArg> ParsePolicy(std::string_view text, std::span<const TierOptions> tiers,
                              PoolOrder order) {
  auto routing = ParseRouting(text, tiers, order);
  if (routing) return PolicyArg{std::string(text), std::move(*routing)};
  return Refuse(
      fmt::format("--policy {}: {}; accepted: {}", text, routing.error().message(), kPolicyHelp));
}

}  // namespace kvstream::cli
