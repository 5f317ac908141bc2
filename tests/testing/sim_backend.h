#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "io/io_backend.h"
#include "testing/fault_plan.h"
#include "testing/sim_clock.h"
#include "testing/sim_file_system.h"

namespace kvstream::test {

/// One device. It serves what backends submit in that order, one request at a time; the answer
/// takes `latency` more. Backends of one tier may share it. The limits may change at any time and
/// hold for what is submitted later.
struct SimDevice {
  uint64_t bytes_per_second = uint64_t{1} << 30;
  std::chrono::nanoseconds latency = std::chrono::microseconds(100);
  TimePoint free_at = TimePoint::min();
};

struct SimBackendOptions {
  size_t depth = 64;
  FaultPlan* faults = nullptr;  ///< Of reads and writes; usually the file system's too.
};

/// IoBackend on virtual time over a SimFileSystem. Data moves at the instant of completion. Reap
/// never waits: it returns what is due at the clock's now, earliest first, in the order of
/// submission among equals. A request that hangs is due as soon as its FaultPlan releases it.
/// One thread.
///
/// The destructor drops what is in flight; nothing of it moves any more.
class SimBackend final : public io::IoBackend {
 public:
  /// All outlive the backend.
  SimBackend(SimFileSystem& files, SimDevice& device, const SimClock& clock,
             const SimBackendOptions& options = {});

  void Enqueue(io::IoRequest& request) override;
  void Submit() override;
  size_t Reap(std::span<io::IoRequest*> out, std::chrono::nanoseconds timeout) override;
  void Wake() override {}
  size_t in_flight() const override { return enqueued_.size() + submitted_.size(); }
  size_t depth() const override { return options_.depth; }
  const char* name() const override { return "simulated"; }

  /// When the next request will be due; TimePoint::max() if none will be by itself.
  TimePoint NextCompletion() const;

 private:
  struct Pending {
    io::IoRequest* request = nullptr;
    std::shared_ptr<SimOpenFile> file;  // null: a bad descriptor
    std::optional<Fault> fault;
    TimePoint due;
  };

  Pending Start(io::IoRequest& request);
  TimePoint DueOf(const Pending& pending) const;
  void Finish(Pending& pending);

  SimFileSystem& files_;
  SimDevice& device_;
  const SimClock& clock_;
  const SimBackendOptions options_;
  std::vector<io::IoRequest*> enqueued_;
  std::vector<Pending> submitted_;  // in the order of Submit
};

}  // namespace kvstream::test
