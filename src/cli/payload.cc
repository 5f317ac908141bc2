#include "cli/payload.h"

#include <algorithm>
#include <cstring>

namespace kvstream::cli {
namespace {

constexpr size_t kWordBytes = sizeof(uint64_t);
constexpr size_t kSectorBytes = 512;

// One multiplication between two xor-shifts: a bijection of the word's number, so that no two words
// of a payload are equal, at one multiplication for 8 bytes.
class PayloadWords {
 public:
  explicit PayloadWords(const ChunkKey& key) {
    for (size_t at = 0; at < key.bytes.size(); at += kWordBytes) {
      uint64_t part = 0;
      std::memcpy(&part, key.bytes.data() + at, kWordBytes);
      seed_ = Mix(seed_ ^ part) + kIncrement;
    }
  }

  uint64_t At(uint64_t index) const { return Mix(seed_ + index * kIncrement); }

 private:
  static constexpr uint64_t kIncrement = 0x9e3779b97f4a7c15u;

  static uint64_t Mix(uint64_t z) {
    z = (z ^ (z >> 32)) * 0xd6e8feb86659fd93u;
    return z ^ (z >> 29);
  }

  uint64_t seed_ = 0;
};

// The bytes of `out` that share a word with bytes outside it, at its front or its end.
void FillPart(const PayloadWords& words, uint64_t offset, std::span<std::byte> out) {
  const uint64_t word = words.At(offset / kWordBytes);
  std::memcpy(out.data(), reinterpret_cast<const std::byte*>(&word) + offset % kWordBytes,
              out.size());
}

size_t BytesToWordBoundary(uint64_t offset, size_t bytes) {
  return std::min<size_t>((kWordBytes - offset % kWordBytes) % kWordBytes, bytes);
}

// True if the whole words of `data`, the first one being number `index`, are right.
bool WordsMatch(const PayloadWords& words, uint64_t index, std::span<const std::byte> data) {
  uint64_t difference = 0;
  for (size_t at = 0; at < data.size(); at += kWordBytes) {
    uint64_t word = 0;
    std::memcpy(&word, data.data() + at, kWordBytes);
    difference |= word ^ words.At(index++);
  }
  return difference == 0;
}

std::optional<uint64_t> FirstWrongByte(const ChunkKey& key, uint64_t offset,
                                       std::span<const std::byte> data) {
  const PayloadWords words(key);
  for (size_t at = 0; at < data.size(); ++at) {
    std::byte expected{};
    FillPart(words, offset + at, {&expected, 1});
    if (data[at] != expected) return offset + at;
  }
  return std::nullopt;
}

}  // namespace

void FillPayload(const ChunkKey& key, uint64_t offset, std::span<std::byte> out) {
  const PayloadWords words(key);
  const size_t head = BytesToWordBoundary(offset, out.size());
  if (head > 0) FillPart(words, offset, out.first(head));
  offset += head;
  out = out.subspan(head);

  const size_t body = out.size() / kWordBytes * kWordBytes;
  uint64_t index = offset / kWordBytes;
  for (size_t at = 0; at < body; at += kWordBytes) {
    const uint64_t word = words.At(index++);
    std::memcpy(out.data() + at, &word, kWordBytes);
  }
  if (body < out.size()) FillPart(words, offset + body, out.subspan(body));
}

std::optional<uint64_t> VerifyPayload(const ChunkKey& key, uint64_t offset,
                                      std::span<const std::byte> data) {
  const PayloadWords words(key);
  const size_t head = BytesToWordBoundary(offset, data.size());
  const size_t body = (data.size() - head) / kWordBytes * kWordBytes;
  if (auto wrong = FirstWrongByte(key, offset, data.first(head))) return wrong;
  if (!WordsMatch(words, (offset + head) / kWordBytes, data.subspan(head, body))) {
    return FirstWrongByte(key, offset + head, data.subspan(head, body));
  }
  return FirstWrongByte(key, offset + head + body, data.subspan(head + body));
}

void SpoilPayload(std::span<std::byte> data) {
  for (size_t at = 0; at < data.size(); at += kSectorBytes) data[at] = ~data[at];
}

}  // namespace kvstream::cli
