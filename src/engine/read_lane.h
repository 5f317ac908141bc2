#pragma once

#include <chrono>
#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/lane_backend.h"
#include "engine/lane_context.h"
#include "engine/open_files.h"
#include "engine/transfer_queue.h"

namespace kvstream::engine {

/// Reads of one tier: takes operations from the core, opens, reads, verifies, delivers. Everything
/// that can block on the tier happens here, on the lane's own thread.
class ReadLane {
 public:
  /// `backend` is the lane's alone.
  ReadLane(const LaneContext& context, std::unique_ptr<io::IoBackend> backend);

  /// One turn: starts what the core has, then waits for completions until `timeout` or Wake. The
  /// number of operations that ended. The thread of the first call owns the lane.
  size_t RunOnce(std::chrono::nanoseconds timeout);
  void Wake() { backend_.Wake(); }  ///< Any thread, also after Close.
  /// Ends the lane on its own thread; requires idle().
  void Close();
  bool idle() const { return active_.empty(); }
  const char* backend_name() const { return backend_.name(); }

 private:
  struct Operation {
    core::ReadOp op;
    Transfer transfer;
    std::shared_ptr<OpenFile> file;
    std::vector<std::byte*> blocks;            // bounce
    std::vector<std::span<std::byte>> memory;  // where the file's bytes land, padding included
    bool second_try = false;
  };

  bool StartNext();
  void RunControl(const core::ReadOp& op);
  void StartRead(std::unique_ptr<Operation> operation);
  void PointAtMemory(Operation* operation) const;
  void End(Operation* operation);
  bool Verify(const Operation& operation) const;
  bool Deliver(const Operation& operation);
  /// What the file is after a read that did not fit its version.
  core::ReadResult Diagnose(const Operation& operation) const;
  void FinishBad(Operation* operation);
  void Finish(Operation* operation, core::ReadResult result);

  const LaneContext context_;
  LaneBackend backend_;
  TransferQueue transfers_;
  OpenFiles open_files_;
  std::unordered_map<Operation*, std::unique_ptr<Operation>> active_;
  std::vector<Transfer*> ended_;
  size_t finished_ = 0;
};

}  // namespace kvstream::engine
