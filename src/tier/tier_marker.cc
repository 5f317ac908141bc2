#include "tier/tier_marker.h"

#include <charconv>

#include <fmt/format.h>

#include "base/assert.h"
#include "chunk/crc32c.h"
#include "chunk/format.h"
#include "chunk/hex.h"

namespace kvstream::tier {
namespace {

constexpr std::string_view kMarkerKind = "kvstream-tier";
constexpr std::string_view kSiblingsKind = "kvstream-siblings";
constexpr std::string_view kUuidKey = "uuid ";
constexpr std::string_view kSiblingKey = "sibling ";
constexpr std::string_view kCrcKey = "crc32c ";
constexpr size_t kUuidDigits = 32;
// "crc32c 01234567\n"
constexpr size_t kCrcLineBytes = 16;

uint32_t CrcOf(std::string_view text) { return chunk::Crc32c(std::as_bytes(std::span(text))); }

Error Corrupt(std::string_view what) { return Error(ErrorCode::kCorruption, std::string(what)); }

std::string Begin(std::string_view kind) {
  return fmt::format("{} {}\n", kind, chunk::kFormatVersion);
}

std::string Seal(std::string body) {
  return body + fmt::format("{}{:08x}\n", kCrcKey, CrcOf(body));
}

/// Takes the first line off `text`, without its line break.
std::string_view TakeLine(std::string_view* text) {
  const size_t end = text->find('\n');
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(end == std::string_view::npos ? text->size() : end + 1);
  return line;
}

Status CheckVersion(std::string_view digits) {
  uint32_t version = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), version);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return Corrupt("unreadable format version");
  }
  if (version > chunk::kFormatVersion) {
    return Error(ErrorCode::kUnsupported,
                 fmt::format("format version {}, this build knows up to {}", version,
                             chunk::kFormatVersion));
  }
  if (version != chunk::kFormatVersion) return Corrupt(fmt::format("format version {}", version));
  return {};
}

/// The lines between the first and the checksum. Kind, version and checksum keep their places in
/// all versions, so that a newer file can be told from a damaged one.
Result<std::string_view> Unseal(std::string_view kind, std::string_view text) {
  if (text.size() > kMarkerFileBytesMax) return Corrupt("too long");
  if (text.size() < kCrcLineBytes) return Corrupt("too short");
  const std::string_view body = text.substr(0, text.size() - kCrcLineBytes);
  const std::string expected = fmt::format("{}{:08x}\n", kCrcKey, CrcOf(body));
  if (text.substr(body.size()) != expected) return Corrupt("its checksum does not agree");
  std::string_view lines = body;
  std::string_view first = TakeLine(&lines);
  if (!first.starts_with(kind) || first.substr(kind.size()).substr(0, 1) != " ") {
    return Corrupt(fmt::format("does not begin with {}", kind));
  }
  KVS_TRY(CheckVersion(first.substr(kind.size() + 1)));
  if (!lines.empty() && lines.back() != '\n') return Corrupt("a line without an end");
  return lines;
}

}  // namespace

std::string EncodeMarker(const TierUuid& uuid) {
  return Seal(fmt::format("{}{}{}\n", Begin(kMarkerKind), kUuidKey, chunk::ToHex(uuid)));
}

Result<TierUuid> DecodeMarker(std::string_view text) {
  KVS_TRY_ASSIGN(std::string_view lines, Unseal(kMarkerKind, text));
  std::string_view line = TakeLine(&lines);
  TierUuid uuid;
  if (!line.starts_with(kUuidKey) || !chunk::FromHex(line.substr(kUuidKey.size()), uuid)) {
    return Corrupt("no uuid in its second line");
  }
  if (!lines.empty()) return Corrupt("more lines than there should be");
  return uuid;
}

std::string EncodeSiblings(const std::vector<Sibling>& siblings) {
  KVS_ASSERT(siblings.size() <= kSiblingsMax);
  std::string body = Begin(kSiblingsKind);
  for (const Sibling& sibling : siblings) {
    KVS_ASSERT(sibling.name.size() <= kTierNameBytesMax);
    KVS_ASSERT(sibling.name.find('\n') == std::string::npos);
    body += fmt::format("{}{} {}\n", kSiblingKey, chunk::ToHex(sibling.uuid), sibling.name);
  }
  return Seal(std::move(body));
}

Result<std::vector<Sibling>> DecodeSiblings(std::string_view text) {
  KVS_TRY_ASSIGN(std::string_view lines, Unseal(kSiblingsKind, text));
  constexpr size_t kNameAt = kSiblingKey.size() + kUuidDigits + 1;
  std::vector<Sibling> siblings;
  while (!lines.empty()) {
    const std::string_view line = TakeLine(&lines);
    Sibling sibling;
    if (!line.starts_with(kSiblingKey) || line.size() <= kNameAt || line[kNameAt - 1] != ' ' ||
        line.size() > kNameAt + kTierNameBytesMax ||
        !chunk::FromHex(line.substr(kSiblingKey.size(), kUuidDigits), sibling.uuid)) {
      return Corrupt(fmt::format("line {} is not a sibling", siblings.size() + 2));
    }
    if (siblings.size() == kSiblingsMax) return Corrupt("too many siblings");
    sibling.name = line.substr(kNameAt);
    siblings.push_back(std::move(sibling));
  }
  return siblings;
}

}  // namespace kvstream::tier
