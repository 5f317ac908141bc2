#pragma once

#include <string_view>

#include "kvstream/status.h"

namespace kvstream::kvsim {

/// Prints a failure as "kvsim NAME: MESSAGE" on stderr. Returns the process's exit code.
int EndCommand(std::string_view name, const Status& done);

}  // namespace kvstream::kvsim
