#include "kvsim/settings.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "base/units.h"

namespace kvstream::kvsim {
namespace {

Error Invalid(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

Result<bool> ParseBool(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return Invalid(fmt::format("'{}' is neither true nor false", text));
}

Result<std::string> ParseText(std::string_view text) { return std::string(text); }

}  // namespace

Result<Settings> Settings::Make(std::vector<Setting> settings) {
  for (size_t i = 0; i < settings.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (settings[i].key != settings[j].key) continue;
      return Invalid(fmt::format("{}: {}: given twice", settings[i].origin, settings[i].key));
    }
  }
  Settings result;
  result.settings_ = std::move(settings);
  return result;
}

const Setting* Settings::Find(std::string_view key) const {
  const auto found = std::find_if(settings_.begin(), settings_.end(),
                                  [key](const Setting& setting) { return setting.key == key; });
  return found == settings_.end() ? nullptr : &*found;
}

const Setting* Settings::Ask(std::string_view key) {
  if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) asked_.emplace_back(key);
  return Find(key);
}

template <typename T, typename U>
Status Settings::Read(std::string_view key, Result<T> (*parse)(std::string_view), U* target) {
  const Setting* setting = Ask(key);
  if (setting == nullptr) return {};
  auto value = parse(setting->value);
  if (!value) return Refuse(key, value.error().message());
  *target = static_cast<U>(std::move(*value));
  return {};
}

Status Settings::ReadText(std::string_view key, std::string* target) {
  return Read(key, ParseText, target);
}
Status Settings::ReadBytes(std::string_view key, uint64_t* target) {
  return Read(key, base::ParseBytes, target);
}
Status Settings::ReadBandwidth(std::string_view key, double* target) {
  return Read(key, base::ParseBandwidth, target);
}
Status Settings::ReadSeconds(std::string_view key, double* target) {
  return Read(key, ParseSeconds, target);
}
Status Settings::ReadNumber(std::string_view key, double* target) {
  return Read(key, ParseNumber, target);
}
Status Settings::ReadBool(std::string_view key, bool* target) {
  return Read(key, ParseBool, target);
}

Error Settings::Refuse(std::string_view key, std::string_view what) const {
  const Setting* setting = Find(key);
  return Invalid(fmt::format("{}: {}: {}", setting != nullptr ? setting->origin : "", key, what));
}

Status Settings::CheckAllKnown() const {
  for (const Setting& setting : settings_) {
    if (std::find(asked_.begin(), asked_.end(), setting.key) != asked_.end()) continue;
    return Refuse(setting.key, fmt::format("unknown key; known: {}", fmt::join(asked_, ", ")));
  }
  return {};
}

Result<double> ParseNumber(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && std::isfinite(value)) {
    return value;
  }
  return Invalid(fmt::format("'{}' is not a number", text));
}

Result<double> ParseSeconds(std::string_view text) {
  KVS_TRY_ASSIGN(const std::chrono::nanoseconds duration, base::ParseDuration(text));
  return std::chrono::duration<double>(duration).count();
}

}  // namespace kvstream::kvsim
