#pragma once

#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/prng.h"

namespace kvstream::test {

enum class FaultOp : uint8_t {
  kRead,
  kWrite,
  kOpen,
  kRename,
  kUnlink,
  kAllocate,
  kSync,
  kStat,
  kList,
  kMakeDirectory,
};
inline constexpr size_t kFaultOps = 10;

enum class FaultKind : uint8_t {
  kErrno,         ///< Fails with `error`; nothing else happens.
  kShort,         ///< A read moves half, as if the file ended there. A write: as kPartialWrite.
  kPartialWrite,  ///< The first half lands, then the write fails with `error`.
  kTruncateFile,  ///< The file loses its second half, then the operation goes on. Simulation only.
  kFlipRead,      ///< One bit of the data read differs; the file is intact.
  kFlipStored,    ///< One bit of the file differs for good. Simulation only.
  kHang,          ///< Does not come back before Release, then goes on as if nothing had been.
  kDelay,         ///< Takes `factor` times as long (simulation) or `delay` longer (real backends).
};

/// Which operations fail, and how. Fires on the matching operations first, first + 1 … first +
/// count - 1 (counted from 1 since Add), or, with `first` 0, on each with `probability`.
struct FaultRule {
  FaultOp op = FaultOp::kRead;
  FaultKind kind = FaultKind::kErrno;
  int error = EIO;
  uint64_t first = 0;
  uint64_t count = 1;
  double probability = 0;
  double factor = 10;
  std::chrono::nanoseconds delay{0};
  std::string path_contains;  ///< Empty: any path. Real backends know no paths.
};

/// What befalls one operation.
struct Fault {
  FaultKind kind = FaultKind::kErrno;
  int error = EIO;
  double factor = 1;
  std::chrono::nanoseconds delay{0};
  uint64_t random = 0;  ///< Picks the bit to flip.
  uint64_t hang_epoch = 0;
};

/// The faults of a run: the same seed, rules and operations give the same faults. Any thread.
class FaultPlan {
 public:
  explicit FaultPlan(uint64_t seed) : prng_(seed) {}

  void Add(FaultRule rule);
  /// Removes the rules; what hangs goes on hanging.
  void Clear();

  /// Counts the operation and tells its fault. The first rule that fires wins.
  std::optional<Fault> Next(FaultOp op, std::string_view path);

  /// Lets everything that hangs now go on. What hangs later waits for the next Release.
  void Release();
  bool Released(const Fault& fault) const;
  /// Blocks until Released(fault).
  void WaitReleased(const Fault& fault) const;

  uint64_t seen(FaultOp op) const;  ///< Operations counted.
  uint64_t fired() const;           ///< Faults told.

 private:
  struct ActiveRule {
    FaultRule rule;
    uint64_t matches = 0;
  };
  bool Fires(ActiveRule& active);

  mutable std::mutex mutex_;
  mutable std::condition_variable released_;
  base::Prng prng_;
  std::vector<ActiveRule> rules_;
  std::array<uint64_t, kFaultOps> seen_{};
  uint64_t fired_ = 0;
  uint64_t epoch_ = 0;
};

}  // namespace kvstream::test
