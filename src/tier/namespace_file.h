#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "kvstream/chunk_key.h"
#include "kvstream/status.h"

#include "chunk/fingerprint.h"

namespace kvstream::tier {

/// A namespace.json is at most this long.
inline constexpr size_t kNamespaceFileBytesMax = 65536;

/// What a namespace.json says. The fingerprint is always that of the identity.
struct NamespaceRecord {
  Identity identity;
  chunk::Fingerprint fingerprint;
};

/// Text of namespace.json: one flat JSON object, one field a line. Bytes that are not UTF-8 are
/// passed through.
std::string EncodeNamespace(const Identity& identity);

/// From untrusted text. kUnsupported names a newer version; kCorruption for text that is not such
/// an object, for a missing or unknown field, and for a fingerprint that is not that of the
/// identity.
Result<NamespaceRecord> DecodeNamespace(std::string_view text);

}  // namespace kvstream::tier
