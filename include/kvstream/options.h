#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "kvstream/log.h"

namespace kvstream {

inline constexpr uint64_t kKiB = uint64_t{1} << 10;
inline constexpr uint64_t kMiB = uint64_t{1} << 20;
inline constexpr uint64_t kGiB = uint64_t{1} << 30;

/// At most this many tiers in one engine.
inline constexpr size_t kTiersMax = 8;

/// One bit per tier, bit k for the k-th entry of EngineOptions::tiers.
using TierMask = uint8_t;

/// Where reads of a tier land first (docs/architecture.md, "Landing").
enum class Landing : uint8_t {
  kAuto,    ///< kBounce on network and FUSE file systems, else kDirect.
  kDirect,  ///< Into the caller's memory. A read that hangs holds its chunk until the kernel lets
            ///< go.
  kBounce,  ///< Into engine memory, then a copy. A read that hangs becomes a miss at its deadline.
};

/// How a tier's reads and writes reach the kernel.
enum class BackendKind : uint8_t {
  kAuto,     ///< io_uring on local file systems where it works, else threads.
  kUring,    ///< io_uring; Open fails where the kernel or a sandbox refuses it.
  kThreads,  ///< A pool of threads calling preadv and pwritev.
};

/// An artificial limit for demonstrations and tests. Zeros mean no limit.
struct ShapeOptions {
  uint64_t read_bytes_per_second = 0;
  uint64_t write_bytes_per_second = 0;
  std::chrono::nanoseconds latency{0};
};

/// One tier: a directory with its own lanes, capacity and health.
struct TierOptions {
  /// Short name for logs and statistics, unique in the engine. Required.
  std::string name;
  /// Existing directory. Required. Never the same as, inside, or around another tier's.
  std::filesystem::path directory;
  /// Bytes this owner may keep here, file footers, padding and temporary files included. Required.
  uint64_t capacity_bytes = 0;
  Landing landing = Landing::kAuto;
  BackendKind backend = BackendKind::kAuto;
  /// Other owners write here too; LookupAsync with `discover` looks for their chunks.
  bool shared = false;
  ShapeOptions shape{};

  /// Upper limit of the adaptive window of reads in flight. Leave alone unless bandwidth times
  /// latency of the tier exceeds it.
  uint64_t window_bytes_max = 64 * kMiB;
};

/// Which tier reads what.
enum class Policy : uint8_t {
  kMeetInMiddle,    ///< Completion-driven: each tier claims when it has finished (M4).
  kStaticPosition,  ///< The first `share` of each job's chunks from tier 0, the next from tier 1 …
  kStaticHash,      ///< By a hash of the key, in the proportions of `shares`.
  kSingleTier,      ///< All from tier `tier`.
  kRoundRobin,      ///< Chunk i from tier i mod N.
};

enum class PoolOrder : uint8_t {
  kJob,   ///< All tiers work on the oldest unfinished job first.
  kPool,  ///< All open jobs are one pool.
};

/// Comparison policies read a chunk from another holder when the chosen tier has no copy.
struct RoutingOptions {
  Policy policy = Policy::kMeetInMiddle;
  PoolOrder order = PoolOrder::kJob;
  /// 0: claim pieces under the adaptive window. m > 0: claim m whole chunks, the next m when all of
  /// them have arrived (the paper's claiming; no endgame).
  uint32_t claim_chunks = 0;
  /// kSingleTier: the tier.
  uint32_t tier = 0;
  /// kStaticPosition, kStaticHash: relative weight per tier; empty means equal.
  std::vector<double> shares{};
};

/// What Write does when the stage is full.
enum class StageFull : uint8_t {
  kDrop,  ///< Drop the new chunk, counted.
  kWait,  ///< Block the caller up to the write's deadline, then drop.
};

struct WriteOptions {
  /// Memory for staged chunks, allocated at Open.
  uint64_t stage_bytes = 1 * kGiB;
  /// Above this share of the stage, writes go out even while reads are open.
  double high_water = 0.75;
  /// A staged chunk older than this goes out even while reads are open; a tier that still has not
  /// begun its copy after twice this age loses it.
  std::chrono::nanoseconds age_max = std::chrono::seconds(10);
  /// Reads have been idle for this long: writes go out without a hint.
  std::chrono::nanoseconds idle_delay = std::chrono::milliseconds(20);
  StageFull full = StageFull::kDrop;
  /// Bytes of writes in flight per tier.
  uint64_t window_bytes = 16 * kMiB;
};

enum class Verify : uint8_t {
  kAlways,  ///< CRC-32C of every block of every read.
  kOff,     ///< Only the footer's identity is compared. For measurements.
};

/// Durations must not be negative; more than ten years means never.
struct EngineOptions {
  /// 1 to kTiersMax tiers, the fast one first. Any order works.
  std::vector<TierOptions> tiers{};
  /// Name under which this process owns what it writes: letters, digits, '.', '_', '-', at most 63.
  /// Empty: the host name. One live process per name and directory.
  std::string owner{};
  RoutingOptions routing{};
  WriteOptions write{};
  Verify verify = Verify::kAlways;

  /// Engine memory for bounced reads, allocated at Open; also bounds what hung reads can hold.
  uint64_t bounce_bytes = 128 * kMiB;
  /// A lease that is not released ends after this.
  std::chrono::nanoseconds lease_ttl = std::chrono::seconds(60);
  /// An operation in flight for longer sets its tier aside until it answers.
  std::chrono::nanoseconds hang_after = std::chrono::seconds(2);
  /// Where log lines go; empty: nowhere.
  LogSink log{};
};

}  // namespace kvstream
