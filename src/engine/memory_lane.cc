#include "engine/memory_lane.h"

#include "base/assert.h"
#include "chunk/crc32c.h"
#include "engine/payload_view.h"

namespace kvstream::engine {
namespace {

/// The payload of block `index` of a staged chunk.
std::vector<std::span<const std::byte>> BlockOf(const core::MemoryOp& op, uint32_t index) {
  const uint32_t bytes = op.meta->BlockBytes(index);
  if (op.blocks != nullptr) return {{(*op.blocks)[index], bytes}};
  return PayloadRange<const std::byte>(*op.source, uint64_t{index} * op.meta->block_bytes, bytes);
}

}  // namespace

TimePoint MemoryLane::RunOnce() {
  core::MemoryOp op;
  const bool found =
      core_.Call([&](core::Core& core, TimePoint) { return core.NextMemoryOp(&op); });
  if (found) {
    const bool intact = Run(op);
    core_.Call([&](core::Core& core, TimePoint now) { core.FinishMemoryOp(op, intact, now); });
  }
  // After each operation: deadlines wait for one chunk's copy, never for a queue of them.
  const TimePoint next = core_.Call([](core::Core& core, TimePoint now) {
    core.Tick(now);
    return core.NextTick(now);
  });
  return found ? core_.Now() : next;
}

bool MemoryLane::Run(const core::MemoryOp& op) const {
  if (op.kind == core::MemoryOp::Kind::kSeal) {
    // Nobody else reads the checksums before the seal is reported.
    auto& meta = const_cast<chunk::ChunkMeta&>(*op.meta);
    for (uint32_t index = 0; index < meta.block_count; ++index) {
      meta.crcs()[index] = PartsCrc32c(BlockOf(op, index));
    }
    return true;
  }
  for (uint32_t index = 0; index < op.meta->block_count; ++index) {
    const auto block = BlockOf(op, index);
    if (verify_ && op.blocks != nullptr && PartsCrc32c(block) != op.meta->crcs()[index])
      return false;
    CopyParts(block,
              PayloadRange<std::byte>(*op.destination, uint64_t{index} * op.meta->block_bytes,
                                      op.meta->BlockBytes(index)));
  }
  return true;
}

void MemoryLane::Sleep(TimePoint deadline) {
  std::unique_lock lock(mutex_);
  if (deadline == kNoDeadline) {
    wake_.wait(lock, [&] { return woken_; });
  } else {
    wake_.wait_until(lock, deadline, [&] { return woken_; });
  }
  woken_ = false;
}

void MemoryLane::Wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  wake_.notify_one();
}

}  // namespace kvstream::engine
