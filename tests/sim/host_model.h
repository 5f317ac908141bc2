#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kvstream/engine.h"

#include "base/prng.h"

namespace kvstream::test {

/// What the host knows of its chunks: the oracle of a simulation. A key has versions, each with its
/// own random bytes; a read may deliver one that was committed and is not older than the floor.
class HostModel {
 public:
  struct Version {
    std::vector<std::byte> payload;
    bool committed = false;
  };
  struct Key {
    ChunkKey key;
    std::vector<Version> versions;
    size_t floor = 0;            ///< Older versions must not be delivered any more.
    bool foreign = false;        ///< Other owners write it, so there is no floor.
    bool being_written = false;  ///< Between Admit and Commit of a write.
    uint64_t changed = 0;        ///< When a version became or ceased to be readable; a count.
  };

  HostModel(uint64_t seed, size_t keys, uint32_t blocks_max);

  size_t size() const { return keys_.size(); }
  const Key& key(size_t index) const { return keys_[index]; }
  size_t IndexOf(const ChunkKey& key) const;

  /// Begins a write of the key and returns its version: the newest one again if it may still be
  /// read and `fresh` is false, else a new one.
  size_t BeginWrite(size_t index, bool fresh);
  /// The write is readable now, or it never will be.
  void EndWrite(size_t index, size_t version, bool committed);
  /// Another owner has published a new version, which is returned.
  size_t WriteForeign(size_t index);
  /// No version so far may be delivered.
  void Remove(size_t index);
  /// Copies went, on some tiers.
  void Disturb(size_t index) { ++keys_[index].changed; }
  /// The engine has started anew: whatever was written once may be found again.
  void ForgetOrder();

  /// The most probable length of the key's chunk.
  uint64_t BytesOf(size_t index) const;
  /// Whether `bytes` are a version that may be delivered to a read that saw `floor`.
  bool MayDeliver(size_t index, size_t floor, std::span<const std::byte> bytes) const;
  /// Whether a readable version of that length may exist.
  bool MayHaveLength(size_t index, uint64_t bytes) const;

 private:
  size_t AddVersion(size_t index, bool same_length);

  base::Prng random_;
  const uint32_t blocks_max_;
  std::vector<Key> keys_;
};

/// Memory for one chunk to be read: segments with guard bytes around them. Once retired no byte may
/// change any more.
class ReadMemory {
 public:
  ReadMemory(uint64_t bytes, bool aligned, base::Prng& random);

  const std::vector<std::span<std::byte>>& segments() const { return segments_; }
  std::vector<std::byte> Payload() const;
  bool GuardsIntact() const;
  void Retire();
  /// Requires Retire before.
  bool StillRetired() const;

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };

  size_t bytes_ = 0;
  std::unique_ptr<std::byte[], Free> memory_;
  std::vector<std::span<std::byte>> segments_;
};

}  // namespace kvstream::test
