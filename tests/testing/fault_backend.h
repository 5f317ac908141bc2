#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "io/io_backend.h"
#include "testing/fault_plan.h"

namespace kvstream::test {

/// Puts the faults of a FaultPlan into another backend, usually a real one. It knows operations by
/// their number only, no paths. kTruncateFile and kFlipStored are for simulations and abort here.
///
/// A request that hangs reaches the wrapped backend when it is released, so its data lands late.
/// Threads as for any backend; ReleaseHung from any.
class FaultBackend final : public io::IoBackend {
 public:
  /// `faults` outlives the backend.
  FaultBackend(std::unique_ptr<io::IoBackend> inner, FaultPlan& faults);

  void Enqueue(io::IoRequest& request) override;
  void Submit() override;
  size_t Reap(std::span<io::IoRequest*> out, std::chrono::nanoseconds timeout) override;
  void Wake() override { inner_->Wake(); }
  size_t in_flight() const override { return entries_.size(); }
  size_t depth() const override { return inner_->depth(); }
  const char* name() const override { return name_.c_str(); }

  /// Releases the plan's hung requests and wakes the owner.
  void ReleaseHung();

 private:
  struct Entry {
    io::IoRequest* request = nullptr;
    Fault fault;
    bool faulty = false;
    bool hung = false;
    bool finished = false;
    TimePoint due = TimePoint::min();
  };

  void ResumeReleased();
  void FailNow(Entry& entry);
  void MarkFinished(io::IoRequest& request);
  void ApplyAfter(Entry& entry);
  size_t TakeDue(std::span<io::IoRequest*> out);
  std::chrono::nanoseconds UntilNextDue() const;

  const std::unique_ptr<io::IoBackend> inner_;
  FaultPlan& faults_;
  const base::SteadyClock clock_;
  const std::string name_;
  std::vector<Entry> entries_;  // in the order of Enqueue
};

}  // namespace kvstream::test
