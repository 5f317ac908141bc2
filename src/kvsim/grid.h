#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kvstream/status.h"

namespace kvstream::kvsim {

/// Values of one axis of a sweep: "A,B,C", or "LO..HI" for 8 evenly spaced values, "LO..HI/N" for
/// N. The unit of HI is LO's too, if LO has none: 20..160GiB. At most 1000 values, each as its kind
/// is written alone. kInvalidArgument names the text.
Result<std::vector<uint64_t>> ParseByteGrid(std::string_view text);
Result<std::vector<double>> ParseNumberGrid(std::string_view text);

}  // namespace kvstream::kvsim
