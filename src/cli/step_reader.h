#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "kvstream/engine.h"

#include "cli/read_memory.h"

namespace kvstream::cli {

/// What one tier did during a read, from the difference of two Stats. Payload bytes.
struct TierSample {
  uint64_t bytes = 0;
  uint64_t chunks = 0;
  std::chrono::nanoseconds busy{0};
  uint64_t written_bytes = 0;
  std::chrono::nanoseconds write_busy{0};
};

/// One read of a step's chunks.
struct ReadSample {
  std::chrono::nanoseconds retrieval{0};  ///< From the submission to the last chunk's event.
  std::chrono::nanoseconds cpu{0};        ///< User and system time of the whole process meanwhile.
  uint64_t delivered_bytes = 0;
  uint64_t staged_bytes = 0;  ///< Of those, from the stage.
  uint64_t twice_bytes = 0;   ///< Read by a tier and not used.
  std::vector<TierSample> tiers;
  std::vector<uint32_t> missed;  ///< Items that were not delivered.
  bool interrupted = false;      ///< SIGINT came first; the rest was cancelled.
};

/// Reads the chunks of one step after another through the public API, as a host would: one batch,
/// one event per chunk by way of event_fd. All chunks have `chunk_bytes`. Not thread-safe; the
/// engine outlives it, and its memory must stay until the engine has let go of it (Engine::Close).
class StepReader {
 public:
  StepReader(Engine& engine, NamespaceId ns, uint64_t chunk_bytes)
      : engine_(engine), ns_(ns), memory_(chunk_bytes) {}

  /// Makes room for `chunks` chunks. kNoSpace.
  Status Reserve(size_t chunks) { return memory_.Reserve(chunks); }

  struct Options {
    LeaseId lease = 0;
    std::chrono::nanoseconds deadline{0};  ///< From the submission; 0: none.
  };
  /// Spoils the memory, then reads keys[i] into slot i and takes the time. Blocks until the last
  /// event.
  Result<ReadSample> Read(std::span<const ChunkKey> keys, const Options& options);

  /// Compares every byte that the last Read delivered, whose keys these are. kCorruption names key,
  /// offset and the tiers that delivered the chunk.
  Status Verify(std::span<const ChunkKey> keys);

 private:
  struct Chunk {
    std::span<std::byte> segment;
    bool delivered = false;
    TierMask tiers = 0;
  };

  Result<JobId> Submit(std::span<const ChunkKey> keys, const Options& options);
  void Await(JobId job, ReadSample* sample);
  bool TakeEvents(JobId job, ReadSample* sample);

  Engine& engine_;
  NamespaceId ns_;
  ReadMemory memory_;
  std::vector<Chunk> chunks_;
};

/// "nvme+pfs"; "the stage" for no tier.
std::string TierNames(const Stats& stats, TierMask tiers);

}  // namespace kvstream::cli
