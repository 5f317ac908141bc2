#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "kvstream/chunk_key.h"

namespace kvstream::chunk {

/// Identity::Fingerprint as bytes: what a namespace is called in footers and snapshots.
struct Fingerprint {
  std::array<std::byte, 32> bytes{};

  static Fingerprint Of(const Identity& identity);
  /// Empty unless `hex` is 64 lower-case hexadecimal digits.
  static std::optional<Fingerprint> FromHex(std::string_view hex);
  std::string ToHex() const;

  friend auto operator<=>(const Fingerprint&, const Fingerprint&) = default;
};

}  // namespace kvstream::chunk
