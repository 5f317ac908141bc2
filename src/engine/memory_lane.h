#pragma once

#include <condition_variable>
#include <mutex>

#include "engine/core_handle.h"

namespace kvstream::engine {

/// The lane without a tier: copies staged chunks out to readers, checksums borrowed memory, and
/// tells the core the time. Never blocks on storage, so deadlines hold whatever the tiers do.
class MemoryLane {
 public:
  MemoryLane(CoreHandle& core, bool verify) : core_(core), verify_(verify) {}

  /// One turn: a memory operation if there is one, then a tick. Returns when the next turn is due.
  TimePoint RunOnce();
  /// Blocks until `deadline`, at most, or Wake.
  void Sleep(TimePoint deadline);
  void Wake();  ///< Any thread.

 private:
  bool Run(const core::MemoryOp& op) const;

  CoreHandle& core_;
  const bool verify_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool woken_ = false;
};

}  // namespace kvstream::engine
