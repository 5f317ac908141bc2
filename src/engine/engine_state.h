#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "kvstream/engine.h"

#include "engine/core_handle.h"
#include "engine/event_signal.h"
#include "engine/memory_lane.h"
#include "engine/namespace_table.h"
#include "engine/read_lane.h"
#include "engine/write_lane.h"
#include "io/posix_file_system.h"

namespace kvstream::engine {

/// Log lines, one at a time. Any thread.
class Logger {
 public:
  explicit Logger(LogSink sink) : sink_(std::move(sink)) {}
  void Log(LogLevel level, const std::string& message);

 private:
  std::mutex mutex_;
  LogSink sink_;
};

/// One open tier: its directory, its two lanes and what they need.
struct OpenTier {
  std::string name;
  std::string backend;  // for statistics
  bool needs_scan = true;
  std::atomic<bool> scanned = false;  // or none was needed
  std::unique_ptr<tier::TierDirectory> directory;
  std::unique_ptr<io::BlockPool> bounce;
  std::unique_ptr<io::BlockPool> write_blocks;
  std::unique_ptr<ReadLane> read_lane;
  std::unique_ptr<WriteLane> write_lane;
};

/// The threads of an engine that have not ended. Outlives the state, so that a thread is counted
/// out only when it has let go of it.
struct ThreadCount {
  std::mutex mutex;
  std::condition_variable changed;
  size_t running = 0;
};

/// Everything the threads of an engine share. Each thread holds a reference, so that one that hangs
/// in the kernel when the engine closes finds its memory intact when it comes back.
struct EngineState {
  EngineState(const EngineOptions& engine_options, const core::CoreOptions& core_options,
              std::unique_ptr<io::BlockPool> stage, std::unique_ptr<EventSignal> signal);
  /// Runs when no thread is left, so nothing is in flight; gives back what dropped writes still
  /// hold.
  ~EngineState();

  EngineOptions options;
  Logger logger;
  base::SteadyClock clock;
  io::PosixFileSystem files;
  NamespaceTable namespaces;
  std::unique_ptr<EventSignal> event_signal;
  std::unique_ptr<io::BlockPool> stage_pool;
  CoreHandle core;
  MemoryLane memory_lane;
  std::vector<std::unique_ptr<OpenTier>> tiers;

  std::atomic<bool> stop_lanes = false;  // lanes end when idle
  std::stop_source stop_scans;
  const std::shared_ptr<ThreadCount> threads = std::make_shared<ThreadCount>();
};

/// Runs `body` on a thread of the engine. It must not wait for ever without looking at the stop
/// flags.
/// kNoSpace if the system has no thread left.
Status SpawnThread(const std::shared_ptr<EngineState>& state, const std::string& name,
                   std::function<void()> body);

/// Starts the lanes' threads of a complete state.
Status StartThreads(const std::shared_ptr<EngineState>& state);

/// Asks the threads to end and waits until `deadline`. The number that are still running, stuck in
/// the kernel; they end by themselves when they come back. After 0, the caller's reference is the
/// last one.
size_t StopThreads(const std::shared_ptr<EngineState>& state, TimePoint deadline);

}  // namespace kvstream::engine
