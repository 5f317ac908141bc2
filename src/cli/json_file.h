#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "kvstream/status.h"

namespace kvstream::cli {

/// Writes `value`, indented, to a file or, for "-", to stdout. kIo.
Status WriteJson(const std::string& path, const nlohmann::json& value);

}  // namespace kvstream::cli
