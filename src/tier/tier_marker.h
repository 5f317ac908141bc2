#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kvstream/status.h"

namespace kvstream::tier {

/// Tells tier directories apart: 16 random bytes.
using TierUuid = std::array<std::byte, 16>;

/// A tier that one owner used together with this one.
struct Sibling {
  TierUuid uuid{};
  std::string name;  ///< The tier's name at that time, for messages.

  friend bool operator==(const Sibling&, const Sibling&) = default;
};

/// At most this many siblings are remembered.
inline constexpr size_t kSiblingsMax = 64;
/// Longest name of a tier, in bytes.
inline constexpr size_t kTierNameBytesMax = 255;
/// Marker and sibling files are at most this long.
inline constexpr size_t kMarkerFileBytesMax = 32768;

/// Text of `<tier>/.kvstream/tier`, written once in a tier's life.
std::string EncodeMarker(const TierUuid& uuid);
/// From untrusted text. kUnsupported names a newer version, kCorruption the line that is wrong.
Result<TierUuid> DecodeMarker(std::string_view text);

/// Text of `<tier>/.kvstream/owners/<owner>.siblings`. Requires names without line breaks and at
/// most kSiblingsMax entries.
std::string EncodeSiblings(const std::vector<Sibling>& siblings);
/// As DecodeMarker.
Result<std::vector<Sibling>> DecodeSiblings(std::string_view text);

}  // namespace kvstream::tier
