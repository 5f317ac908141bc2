#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include "kvstream/status.h"

namespace kvstream::cli {

/// Parses a command line; `app` has its options bound. Returns the exit code with which to end, or
/// nothing to go on. --help and --version end with 0, mistakes with 2.
std::optional<int> ParseCommandLine(CLI::App* app, int argc, const char* const* argv);

/// A Status with the flag's name in front of its message.
template <typename T>
Status ReadFlag(std::string_view flag, Result<T> value, T* target) {
  if (!value) return std::move(value).error().WithContext(flag);
  *target = std::move(*value);
  return {};
}

}  // namespace kvstream::cli
