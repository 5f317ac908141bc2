#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "kvstream/options.h"

namespace kvstream {

/// Why a staged write was let go.
enum class FlushReason : uint8_t { kHint, kIdle, kAge, kHighWater, kStageFull, kExplicit };
inline constexpr size_t kFlushReasonCount = 6;

/// Why a chunk, or one tier's copy of it, was not written.
enum class DropReason : uint8_t {
  kStageFull,
  kAge,
  kTierDown,
  kNoSpace,
  kIoError,
  kShutdown,
  kReplaced
};
inline constexpr size_t kDropReasonCount = 7;

/// Counters since Open unless said otherwise. Bytes are payload bytes.
struct TierStats {
  std::string name;
  std::string backend;  ///< "io_uring", "threads", with ", buffered" where O_DIRECT was refused.
  Landing landing = Landing::kDirect;
  bool up = true;

  uint64_t read_bytes = 0;   ///< Read and verified, losers of the endgame included.
  uint64_t read_chunks = 0;  ///< Chunks of which this tier delivered at least one block.
  uint64_t written_bytes = 0;
  uint64_t written_chunks = 0;
  /// Time with at least one read (write) in flight.
  std::chrono::nanoseconds read_busy{0};
  std::chrono::nanoseconds write_busy{0};

  uint64_t chunks = 0;      ///< Now: copies this engine knows here, of any owner.
  uint64_t used_bytes = 0;  ///< Now: bytes of this owner on disk, reservations included.
  uint64_t capacity_bytes = 0;
  uint64_t evicted_chunks = 0;
  uint64_t window_bytes = 0;  ///< Now: the read window.

  uint64_t io_errors = 0;
  uint64_t short_reads = 0;  ///< Files shorter than their index entry.
  uint64_t corrupt_blocks = 0;
  uint64_t stale_copies = 0;  ///< Files found replaced or gone.
  uint64_t breaker_opened = 0;
  uint64_t quarantined_bytes =
      0;  ///< Now: engine memory held by reads that outlived their deadline.
  std::array<uint64_t, kDropReasonCount> dropped_copies{};
};

/// A consistent copy, taken without system calls; cheap enough for every step.
struct Stats {
  std::vector<TierStats> tiers;

  uint64_t read_jobs = 0;
  uint64_t hit_chunks = 0;   ///< Chunks delivered.
  uint64_t miss_chunks = 0;  ///< Chunks asked for and not delivered.
  uint64_t hit_bytes = 0;
  uint64_t staged_hit_bytes = 0;  ///< Of hit_bytes, served from the stage.
  uint64_t bytes_read_twice = 0;  ///< Read by a tier and not used: endgame losers.
  uint64_t deadline_missed_chunks = 0;

  uint64_t accepted_chunks = 0;
  uint64_t settled_chunks = 0;
  uint64_t already_present_chunks = 0;
  std::array<uint64_t, kDropReasonCount> dropped_chunks{};  ///< Without a copy on any tier.
  std::array<uint64_t, kFlushReasonCount> flushed_bytes{};  ///< Bytes sent to a tier, by reason.
  /// Of flushed_bytes, sent while a read job was open.
  std::array<uint64_t, kFlushReasonCount> flushed_bytes_during_reads{};
  uint64_t staged_bytes = 0;  ///< Now.
  uint64_t staged_bytes_peak = 0;
  uint64_t stage_capacity_bytes = 0;

  uint64_t index_chunks = 0;  ///< Now.
  uint64_t leases = 0;        ///< Now.
};

}  // namespace kvstream
