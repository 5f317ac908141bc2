#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kvstream/status.h"

namespace kvstream::kvsim {

/// One `key = value`, the value as it would stand on a command line, and where it was said
/// ("nodes.toml:3", "--tier nvme").
struct Setting {
  std::string key;
  std::string value;
  std::string origin;
};

/// Settings that are asked for one by one; what nobody asked for is a mistake of the user's. Every
/// error is kInvalidArgument and begins with the origin. Not thread-safe.
class Settings {
 public:
  /// kInvalidArgument if a key comes twice.
  static Result<Settings> Make(std::vector<Setting> settings);

  bool Has(std::string_view key) const { return Find(key) != nullptr; }

  /// Each leaves *target as it is if the key is not there.
  Status ReadText(std::string_view key, std::string* target);
  Status ReadBytes(std::string_view key, uint64_t* target);
  Status ReadBandwidth(std::string_view key, double* target);  ///< Bytes per second.
  Status ReadSeconds(std::string_view key, double* target);
  Status ReadNumber(std::string_view key, double* target);
  Status ReadBool(std::string_view key, bool* target);

  /// "ORIGIN: KEY: WHAT".
  Error Refuse(std::string_view key, std::string_view what) const;

  /// kInvalidArgument if a key is left that was never asked for; names those that were.
  Status CheckAllKnown() const;

 private:
  const Setting* Find(std::string_view key) const;
  const Setting* Ask(std::string_view key);
  template <typename T, typename U>
  Status Read(std::string_view key, Result<T> (*parse)(std::string_view), U* target);

  std::vector<Setting> settings_;
  std::vector<std::string> asked_;
};

/// A finite decimal number. kInvalidArgument names the text.
Result<double> ParseNumber(std::string_view text);
/// base::ParseDuration in seconds.
Result<double> ParseSeconds(std::string_view text);

}  // namespace kvstream::kvsim
