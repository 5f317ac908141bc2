#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace kvstream::chunk {

/// Lower-case hexadecimal, two digits a byte.
std::string ToHex(std::span<const std::byte> bytes);

/// Fills `bytes` from exactly twice as many lower-case digits. False on anything else; `bytes` is
/// then unspecified. Upper case is refused so that every value has one name.
[[nodiscard]] bool FromHex(std::string_view hex, std::span<std::byte> bytes);

}  // namespace kvstream::chunk
