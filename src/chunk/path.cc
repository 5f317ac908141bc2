#include "chunk/path.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/assert.h"
#include "chunk/hex.h"

namespace kvstream::chunk {
namespace {

constexpr std::string_view kChunkSuffix = ".kv";
constexpr std::string_view kTempSuffix = ".tmp";
constexpr size_t kKeyDigits = 64;
constexpr size_t kNonceDigits = 16;
constexpr size_t kNamespaceDigits = 24;
/// ".<key>." before and ".<nonce>.tmp" after the owner.
constexpr size_t kTempHead = 1 + kKeyDigits + 1;
constexpr size_t kTempTail = 1 + kNonceDigits + kTempSuffix.size();

bool IsOwnerCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

bool IsHexDigit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

bool IsHex(std::string_view text) { return std::ranges::all_of(text, IsHexDigit); }

std::optional<ChunkKey> ParseKey(std::string_view hex) {
  ChunkKey key;
  if (!FromHex(hex, key.bytes)) return std::nullopt;
  return key;
}

std::optional<uint64_t> ParseNonce(std::string_view hex) {
  std::array<std::byte, 8> bytes;
  if (!FromHex(hex, bytes)) return std::nullopt;
  uint64_t nonce = 0;
  for (const std::byte byte : bytes) nonce = nonce << 8 | std::to_integer<uint64_t>(byte);
  return nonce;
}

}  // namespace

bool IsOwnerName(std::string_view name) {
  if (name.empty() || name.size() > kOwnerCharsMax) return false;
  return std::ranges::all_of(name, IsOwnerCharacter);
}

std::string ChunkFileName(const ChunkKey& key) { return key.ToHex().append(kChunkSuffix); }

std::optional<ChunkKey> ParseChunkFileName(std::string_view name) {
  if (!name.ends_with(kChunkSuffix)) return std::nullopt;
  name.remove_suffix(kChunkSuffix.size());
  return ParseKey(name);
}

std::string FanOut(const ChunkKey& key) { return ToHex(std::span(key.bytes).first(1)); }

bool IsFanOut(std::string_view name) { return name.size() == 2 && IsHex(name); }

std::string NamespaceDirectoryName(const Fingerprint& fingerprint) {
  return fingerprint.ToHex().substr(0, kNamespaceDigits);
}

bool IsNamespaceDirectoryName(std::string_view name) {
  return name.size() == kNamespaceDigits && IsHex(name);
}

std::string TempFileName(const ChunkKey& key, std::string_view owner, uint64_t nonce) {
  KVS_ASSERT(IsOwnerName(owner));
  return fmt::format(".{}.{}.{:016x}{}", key.ToHex(), owner, nonce, kTempSuffix);
}

std::optional<TempName> ParseTempFileName(std::string_view name) {
  if (name.size() <= kTempHead + kTempTail || !name.ends_with(kTempSuffix)) return std::nullopt;
  const size_t owner_end = name.size() - kTempTail;
  if (name[0] != '.' || name[kTempHead - 1] != '.' || name[owner_end] != '.') return std::nullopt;
  const std::optional<ChunkKey> key = ParseKey(name.substr(1, kKeyDigits));
  const std::optional<uint64_t> nonce = ParseNonce(name.substr(owner_end + 1, kNonceDigits));
  const std::string_view owner = name.substr(kTempHead, owner_end - kTempHead);
  if (!key || !nonce || !IsOwnerName(owner)) return std::nullopt;
  return TempName{*key, std::string(owner), *nonce};
}

}  // namespace kvstream::chunk
