#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kvstream/chunk_key.h"

namespace kvstream::chunk {

/// Hash of a key for tables: its first 8 bytes, since a key is normally a SHA-256 digest.
struct ChunkKeyHash {
  size_t operator()(const ChunkKey& key) const noexcept {
    uint64_t head;
    std::memcpy(&head, key.bytes.data(), sizeof(head));
    return head;
  }
};

}  // namespace kvstream::chunk
