#include "sim/host_model.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/assert.h"
#include "sim/sim_engine.h"

namespace kvstream::test {
namespace {

constexpr std::byte kGuard{0x5c};
constexpr std::byte kUntouched{0xee};
constexpr std::byte kRetired{0xaa};
constexpr size_t kPageBytes = 4096;

bool AllAre(std::span<const std::byte> bytes, std::byte value) {
  if (bytes.empty()) return true;
  return bytes[0] == value && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

ChunkKey KeyOf(uint64_t seed, size_t index) {
  const std::string seed_text = std::to_string(seed);
  const std::string index_text = std::to_string(index);
  const std::string_view parts[] = {seed_text, index_text};
  return ChunkKey::FromParts(parts);
}

}  // namespace

HostModel::HostModel(uint64_t seed, size_t keys, uint32_t blocks_max)
    : random_(seed), blocks_max_(blocks_max), keys_(keys) {
  for (size_t index = 0; index < keys; ++index) {
    keys_[index].key = KeyOf(seed, index);
    AddVersion(index, false);
  }
}

size_t HostModel::IndexOf(const ChunkKey& key) const {
  const auto found = std::ranges::find(keys_, key, &Key::key);
  KVS_ASSERT(found != keys_.end());
  return static_cast<size_t>(found - keys_.begin());
}

size_t HostModel::AddVersion(size_t index, bool same_length) {
  Key& key = keys_[index];
  uint64_t bytes = same_length ? BytesOf(index) : 0;
  if (bytes == 0) {
    bytes = (random_.Below(blocks_max_) + 1) * kSimBlockBytes;
    if (random_.Chance(0.5)) bytes -= random_.Below(kSimBlockBytes);
  }
  Version& version = key.versions.emplace_back();
  version.payload.resize(bytes);
  for (uint64_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    const uint64_t word = random_.Next();
    std::memcpy(version.payload.data() + at, &word, std::min<uint64_t>(sizeof(word), bytes - at));
  }
  return key.versions.size() - 1;
}

size_t HostModel::BeginWrite(size_t index, bool fresh) {
  Key& key = keys_[index];
  KVS_ASSERT(!key.being_written);
  key.being_written = true;
  const size_t newest = key.versions.size() - 1;
  const bool usable = newest >= key.floor && (key.versions[newest].committed || newest == 0);
  if (usable && !fresh) return newest;
  return AddVersion(index, random_.Chance(0.8));
}

void HostModel::EndWrite(size_t index, size_t version, bool committed) {
  Key& key = keys_[index];
  KVS_ASSERT(key.being_written);
  key.being_written = false;
  if (committed) {
    key.versions[version].committed = true;
    if (!key.foreign) key.floor = version;  // whatever it was, only this one is readable now
    ++key.changed;
  } else if (version > 0 && version + 1 == key.versions.size() &&
             !key.versions[version].committed) {
    key.versions.pop_back();
  }
}

size_t HostModel::WriteForeign(size_t index) {
  Key& key = keys_[index];
  const size_t version = AddVersion(index, random_.Chance(0.8));
  key.versions[version].committed = true;
  key.foreign = true;
  key.floor = 0;
  ++key.changed;
  return version;
}

void HostModel::Remove(size_t index) {
  Key& key = keys_[index];
  if (!key.foreign) key.floor = key.versions.size();
  ++key.changed;
}

void HostModel::ForgetOrder() {
  for (Key& key : keys_) {
    key.floor = 0;
    ++key.changed;
  }
}

uint64_t HostModel::BytesOf(size_t index) const {
  const std::vector<Version>& versions = keys_[index].versions;
  for (size_t version = versions.size(); version > keys_[index].floor; --version) {
    if (versions[version - 1].committed) return versions[version - 1].payload.size();
  }
  return versions.empty() ? 0 : versions.back().payload.size();
}

bool HostModel::MayDeliver(size_t index, size_t floor, std::span<const std::byte> bytes) const {
  const std::vector<Version>& versions = keys_[index].versions;
  for (size_t version = floor; version < versions.size(); ++version) {
    if (!versions[version].committed) continue;
    if (std::ranges::equal(versions[version].payload, bytes)) return true;
  }
  return false;
}

bool HostModel::MayHaveLength(size_t index, uint64_t bytes) const {
  const Key& key = keys_[index];
  for (size_t version = key.floor; version < key.versions.size(); ++version) {
    if (key.versions[version].committed && key.versions[version].payload.size() == bytes)
      return true;
  }
  return false;
}

void ReadMemory::Free::operator()(std::byte* memory) const { std::free(memory); }

ReadMemory::ReadMemory(uint64_t bytes, bool aligned, base::Prng& random) {
  std::vector<uint64_t> sizes;
  for (uint64_t left = bytes; left > 0; left -= sizes.back()) {
    uint64_t size = random.Chance(0.5) ? left : random.Below(left) + 1;
    if (aligned && size < left) size = (size + kPageBytes - 1) / kPageBytes * kPageBytes;
    sizes.push_back(std::min(size, left));
  }
  bytes_ = (bytes / kPageBytes + 2 + 3 * sizes.size()) * kPageBytes;
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kPageBytes, bytes_)));
  KVS_ASSERT(memory_ != nullptr);
  std::memset(memory_.get(), static_cast<int>(kGuard), bytes_);
  size_t at = aligned ? kPageBytes : 1 + random.Below(kPageBytes);
  for (const uint64_t size : sizes) {
    segments_.emplace_back(memory_.get() + at, size);
    std::memset(memory_.get() + at, static_cast<int>(kUntouched), size);
    at += size + (aligned ? kPageBytes - size % kPageBytes : 1 + random.Below(64));
  }
  KVS_ASSERT(at <= bytes_);
}

std::vector<std::byte> ReadMemory::Payload() const {
  std::vector<std::byte> payload;
  for (const auto& segment : segments_)
    payload.insert(payload.end(), segment.begin(), segment.end());
  return payload;
}

bool ReadMemory::GuardsIntact() const {
  const std::byte* from = memory_.get();
  for (const auto& segment : segments_) {
    if (!AllAre({from, segment.data()}, kGuard)) return false;
    from = segment.data() + segment.size();
  }
  return AllAre({from, memory_.get() + bytes_}, kGuard);
}

void ReadMemory::Retire() { std::memset(memory_.get(), static_cast<int>(kRetired), bytes_); }

bool ReadMemory::StillRetired() const { return AllAre({memory_.get(), bytes_}, kRetired); }

}  // namespace kvstream::test
