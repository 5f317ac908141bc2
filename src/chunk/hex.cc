#include "chunk/hex.h"

namespace kvstream::chunk {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

int DigitValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string ToHex(std::span<const std::byte> bytes) {
  std::string hex(bytes.size() * 2, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto value = std::to_integer<unsigned>(bytes[i]);
    hex[2 * i] = kDigits[value >> 4];
    hex[2 * i + 1] = kDigits[value & 15];
  }
  return hex;
}

bool FromHex(std::string_view hex, std::span<std::byte> bytes) {
  if (hex.size() != bytes.size() * 2) return false;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const int high = DigitValue(hex[2 * i]);
    const int low = DigitValue(hex[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    bytes[i] = static_cast<std::byte>(high * 16 + low);
  }
  return true;
}

}  // namespace kvstream::chunk
