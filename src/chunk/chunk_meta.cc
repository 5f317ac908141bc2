#include "chunk/chunk_meta.h"

#include <algorithm>
#include <new>

#include "base/assert.h"

namespace kvstream::chunk {

MetaRef MetaRef::Create(NamespaceId ns, const ChunkKey& key, uint64_t payload_bytes,
                        uint32_t block_bytes) {
  KVS_ASSERT(payload_bytes > 0 && payload_bytes <= kChunkBytesMax);
  KVS_ASSERT(block_bytes % kAlignBytes == 0);
  const auto block_count = static_cast<uint32_t>((payload_bytes + block_bytes - 1) / block_bytes);
  void* memory = ::operator new(sizeof(ChunkMeta) + block_count * sizeof(uint32_t));
  auto* meta = new (memory) ChunkMeta();
  meta->ns = ns;
  meta->key = key;
  meta->payload_bytes = payload_bytes;
  meta->block_bytes = block_bytes;
  meta->block_count = block_count;
  std::ranges::fill(meta->crcs(), 0u);
  MetaRef ref;
  ref.meta_ = meta;
  return ref;
}

MetaRef::~MetaRef() {
  if (meta_ == nullptr) return;
  if (meta_->references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  meta_->~ChunkMeta();
  ::operator delete(meta_);
}

}  // namespace kvstream::chunk
