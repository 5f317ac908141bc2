#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include <fmt/core.h>
#include <toml++/toml.h>

#include "cli/tier_config.h"

namespace kvstream::cli {
namespace {

struct Place {
  std::string_view file;
  std::string Of(const toml::source_region& region) const {
    return fmt::format("{}:{}", file, region.begin.line);
  }
};

Error Invalid(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

// A scalar as it would stand on a command line.
Result<std::string> ScalarText(const Place& place, std::string_view key, const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* flag = node.as_boolean()) return std::string(flag->get() ? "true" : "false");
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  return Invalid(fmt::format("{}: {}: expected a string, a number or a boolean",
                             place.Of(node.source()), key));
}

Status SetTierEntry(std::string_view key, const std::string& value, TierOptions* tier) {
  if (key == "name") {
    tier->name = value;
  } else if (key == "dir") {
    tier->directory = value;
  } else {
    return SetTierKey(key, value, tier);
  }
  return {};
}

Result<TierArg> ReadTier(const Place& place, const toml::node& node) {
  const toml::table* table = node.as_table();
  if (table == nullptr)
    return Invalid(place.Of(node.source()) + ": tier: expected a table, [[tier]]");
  TierArg tier;
  tier.origin = place.Of(node.source());
  for (const auto& [key, value] : *table) {
    KVS_TRY_ASSIGN(const std::string text, ScalarText(place, key.str(), value));
    if (auto set = SetTierEntry(key.str(), text, &tier.options); !set) {
      return std::move(set).error().WithContext(place.Of(value.source()));
    }
  }
  return tier;
}

Status ReadTiers(const Place& place, const toml::node& node, EngineArgs* args) {
  const toml::array* tiers = node.as_array();
  if (tiers == nullptr) return Invalid(place.Of(node.source()) + ": tier: expected [[tier]]");
  for (const toml::node& element : *tiers) {
    KVS_TRY_ASSIGN(TierArg tier, ReadTier(place, element));
    args->tiers.push_back(std::move(tier));
  }
  return {};
}

Status ReadEngine(const Place& place, const toml::node& node, EngineArgs* args) {
  const toml::table* table = node.as_table();
  if (table == nullptr) return Invalid(place.Of(node.source()) + ": engine: expected a table");
  for (const auto& [key, value] : *table) {
    KVS_TRY_ASSIGN(const std::string text, ScalarText(place, key.str(), value));
    if (auto set = SetEngineKey(key.str(), text, args); !set) {
      return std::move(set).error().WithContext(place.Of(value.source()));
    }
  }
  return {};
}

Status ReadRoot(const Place& place, const toml::table& root, EngineArgs* args) {
  for (const auto& [key, value] : root) {
    if (key.str() == "tier") {
      KVS_TRY(ReadTiers(place, value, args));
    } else if (key.str() == "engine") {
      KVS_TRY(ReadEngine(place, value, args));
    } else {
      return Invalid(fmt::format("{}: {}: unknown key; known: tier, engine",
                                 place.Of(value.source()), key.str()));
    }
  }
  return {};
}

}  // namespace

Status ParseConfig(std::string_view name, std::string_view text, EngineArgs* args) {
  try {
    return ReadRoot({name}, toml::parse(text, name), args);
  } catch (const toml::parse_error& error) {
    return Invalid(fmt::format("{}:{}: {}", name, error.source().begin.line, error.description()));
  }
}

Status ReadConfigFile(const std::string& path, EngineArgs* args) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                             std::fclose);
  std::string text;
  std::array<char, 4096> part;
  size_t bytes = 0;
  while (file && (bytes = std::fread(part.data(), 1, part.size(), file.get())) > 0) {
    text.append(part.data(), bytes);
  }
  if (!file || std::ferror(file.get()) != 0) {
    return Error(ErrorCode::kNotFound, fmt::format("read {}: {}", path, std::strerror(errno)),
                 errno);
  }
  return ParseConfig(path, text, args);
}

}  // namespace kvstream::cli
