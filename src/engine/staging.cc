#include "engine/staging.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/assert.h"
#include "chunk/crc32c.h"
#include "engine/payload_view.h"

namespace kvstream::engine {
namespace {

/// An item on its way into the stage.
struct Staging {
  core::Admission admission;
  chunk::MetaRef meta;
  std::vector<std::byte*> blocks;
};

uint64_t BytesOf(const WriteItem& item) {
  uint64_t bytes = 0;
  for (const auto& segment : item.segments) bytes += segment.size();
  return bytes;
}

Status CheckItems(std::span<const WriteItem> items) {
  for (size_t i = 0; i < items.size(); ++i) {
    const uint64_t bytes = BytesOf(items[i]);
    if (bytes > 0 && bytes <= kChunkBytesMax) continue;
    return Error(
        ErrorCode::kInvalidArgument,
        fmt::format("write item {}: {} bytes; a chunk has 1 to {}", i, bytes, kChunkBytesMax));
  }
  return {};
}

uint64_t WallClockNs() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(since_epoch).count());
}

/// Copies the item into engine blocks, the last one padded with zeros, and fills in the checksums.
void FillBlocks(io::BlockPool& pool, const WriteItem& item, Staging* staging) {
  chunk::ChunkMeta& meta = staging->meta.mutable_meta();
  for (uint32_t index = 0; index < meta.block_count; ++index) {
    std::byte* block = pool.TryTake();
    KVS_ASSERT(block != nullptr);  // the core admitted no more than the pool has
    staging->blocks.push_back(block);
    const uint32_t bytes = meta.BlockBytes(index);
    const std::span<std::byte> target(block, bytes);
    CopyParts(
        PayloadRange<const std::byte>(item.segments, uint64_t{index} * meta.block_bytes, bytes),
        {&target, 1});
    const uint32_t padded =
        (bytes + chunk::kAlignBytes - 1) / chunk::kAlignBytes * chunk::kAlignBytes;
    std::memset(block + bytes, 0, padded - bytes);
    meta.crcs()[index] = chunk::Crc32c(target);
  }
}

class StageJob {
 public:
  StageJob(EngineState& state, NamespaceId ns, std::span<const WriteItem> items,
           const WriteJobOptions& options)
      : state_(state), ns_(ns), items_(items), options_(options), staging_(items.size()) {}

  WriteTicket Run() {
    const auto count = static_cast<uint32_t>(items_.size());
    state_.core.Call([&](core::Core& core, TimePoint now) { job_ = core.BeginWrite(count, now); });
    // Who waits for room waits item by item: what is staged and not committed is never written, so
    // a job must not hold such room while it waits for more.
    const uint32_t batch = state_.options.write.full == StageFull::kWait ? 1 : count;
    for (uint32_t first = 0; first < count; first += batch) Stage(first, first + batch);
    WriteTicket ticket{job_, {}};
    for (const Staging& staging : staging_) ticket.accepted.push_back(staging.admission.accept);
    return ticket;
  }

 private:
  void Stage(uint32_t first, uint32_t last) {
    state_.core.Call([&](core::Core& core, TimePoint now) {
      for (uint32_t i = first; i < last; ++i) Admit(core, i, now);
    });
    if (state_.options.write.full == StageFull::kWait) WaitForRoom(first);
    for (uint32_t i = first; i < last; ++i) {
      if (staging_[i].meta && options_.mode == WriteMode::kCopy) {
        FillBlocks(*state_.stage_pool, items_[i], &staging_[i]);
      }
    }
    state_.core.Call([&](core::Core& core, TimePoint now) {
      for (uint32_t i = first; i < last; ++i) Commit(core, i, now);
    });
  }

  void Admit(core::Core& core, uint32_t i, TimePoint now) {
    Staging& staging = staging_[i];
    const core::WriteRequest request{.job = job_,
                                     .item = i,
                                     .ns = ns_,
                                     .key = items_[i].key,
                                     .bytes = BytesOf(items_[i]),
                                     .borrowed = options_.mode == WriteMode::kBorrow,
                                     .replace = options_.replace};
    staging.admission = core.Admit(request, now);
    if (staging.admission.accept != WriteAccept::kStaged) return;
    staging.meta = core.NewMeta(ns_, request.key, request.bytes, wall_ns_);
  }

  void WaitForRoom(uint32_t i) {
    const auto admitted = [&] { return staging_[i].admission.accept != WriteAccept::kDropped; };
    if (admitted()) return;
    state_.core.WaitFor(options_.deadline, [&](core::Core& core) {
      Admit(core, i, state_.core.Now());
      return admitted() || core.closed();
    });
  }

  void Commit(core::Core& core, uint32_t i, TimePoint now) {
    Staging& staging = staging_[i];
    if (staging.admission.accept != WriteAccept::kStaged) {
      return core.SettleUnstaged(job_, i, staging.admission.accept, ns_, items_[i].key, now);
    }
    core::ConstSegments segments;
    if (options_.mode == WriteMode::kBorrow) {
      segments.assign(items_[i].segments.begin(), items_[i].segments.end());
    }
    core.Commit(staging.admission.stage, std::move(staging.meta), std::move(staging.blocks),
                std::move(segments), options_.replace, now);
  }

  EngineState& state_;
  const NamespaceId ns_;
  const std::span<const WriteItem> items_;
  const WriteJobOptions& options_;
  std::vector<Staging> staging_;
  const uint64_t wall_ns_ = WallClockNs();
  JobId job_ = 0;
};

}  // namespace

Result<WriteTicket> StageWrites(EngineState& state, NamespaceId ns,
                                std::span<const WriteItem> items, const WriteJobOptions& options) {
  KVS_TRY(CheckItems(items));
  return StageJob(state, ns, items, options).Run();
}

}  // namespace kvstream::engine
