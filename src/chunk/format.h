#pragma once

#include <cstdint>

namespace kvstream::chunk {

/// Version of everything KVStream writes into a tier directory (docs/file_format.md). Files of a
/// newer version are refused by name, never guessed at.
inline constexpr uint32_t kFormatVersion = 1;

}  // namespace kvstream::chunk
