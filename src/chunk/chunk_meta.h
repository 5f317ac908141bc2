#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "kvstream/chunk_key.h"
#include "kvstream/engine.h"

namespace kvstream::chunk {

/// Unit of checksums. Stored in every footer, so that it can change; tests use smaller ones.
inline constexpr uint32_t kBlockBytes = 1u << 20;
/// Files are padded to this, footers are this long, O_DIRECT transfers are multiples of it.
inline constexpr uint32_t kAlignBytes = 4096;

/// What one put wrote: identity, length, write id and checksums. Immutable once sealed and shared
/// by the index and by operations in flight, so a replaced or evicted chunk stays describable.
class ChunkMeta {
 public:
  NamespaceId ns = 0;
  ChunkKey key;
  uint64_t write_id = 0;  ///< Random; equal in all copies of one put.
  uint64_t generation_ns =
      0;  ///< Wall clock of the put; of two copies found at a scan the newer wins.
  uint64_t payload_bytes = 0;
  uint32_t block_bytes = kBlockBytes;
  uint32_t block_count = 0;

  std::span<uint32_t> crcs() { return {reinterpret_cast<uint32_t*>(this + 1), block_count}; }
  std::span<const uint32_t> crcs() const {
    return {reinterpret_cast<const uint32_t*>(this + 1), block_count};
  }

  /// Payload bytes of block `index`; the last one may be shorter.
  uint32_t BlockBytes(uint32_t index) const {
    const uint64_t begin = uint64_t{index} * block_bytes;
    const uint64_t left = payload_bytes - begin;
    return left < block_bytes ? static_cast<uint32_t>(left) : block_bytes;
  }
  /// Payload bytes of `count` blocks from `first` on.
  uint64_t RangeBytes(uint32_t first, uint32_t count) const {
    if (count == 0) return 0;
    return uint64_t{count - 1} * block_bytes + BlockBytes(first + count - 1);
  }
  /// Offset of the footer: the payload length rounded up to kAlignBytes.
  uint64_t FooterOffset() const {
    return (payload_bytes + kAlignBytes - 1) / kAlignBytes * kAlignBytes;
  }
  /// Bytes on disk: padded payload and footer.
  uint64_t FileBytes() const { return FooterOffset() + kAlignBytes; }

 private:
  friend class MetaRef;
  ChunkMeta() = default;
  mutable std::atomic<uint32_t> references_{1};
};

/// Counted reference to a ChunkMeta; one pointer. Any thread.
class MetaRef {
 public:
  MetaRef() = default;
  /// A new meta with room for the checksums of ceil(payload_bytes / block_bytes) blocks, zeroed.
  static MetaRef Create(NamespaceId ns, const ChunkKey& key, uint64_t payload_bytes,
                        uint32_t block_bytes = kBlockBytes);
  MetaRef(const MetaRef& other) : meta_(other.meta_) {
    if (meta_ != nullptr) meta_->references_.fetch_add(1, std::memory_order_relaxed);
  }
  MetaRef(MetaRef&& other) noexcept : meta_(std::exchange(other.meta_, nullptr)) {}
  MetaRef& operator=(MetaRef other) noexcept {
    std::swap(meta_, other.meta_);
    return *this;
  }
  ~MetaRef();

  explicit operator bool() const { return meta_ != nullptr; }
  const ChunkMeta* operator->() const { return meta_; }
  const ChunkMeta& operator*() const { return *meta_; }
  /// For the creator, before the meta is shared.
  ChunkMeta& mutable_meta() { return *meta_; }

 private:
  ChunkMeta* meta_ = nullptr;
};

}  // namespace kvstream::chunk
