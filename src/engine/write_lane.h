#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "engine/lane_backend.h"
#include "engine/lane_context.h"
#include "engine/transfer_queue.h"

namespace kvstream::engine {

/// Writes of one tier: temporary files, footers, renames, unlinks; also the tier's other slow
/// business (namespace directories, snapshot), which is posted as tasks.
class WriteLane {
 public:
  /// `backend` is the lane's alone. LaneContext::blocks serves writes that O_DIRECT would refuse.
  WriteLane(const LaneContext& context, std::unique_ptr<io::IoBackend> backend);

  /// As ReadLane::RunOnce.
  size_t RunOnce(std::chrono::nanoseconds timeout);
  void Wake() { backend_.Wake(); }  ///< Any thread, also after Close.
  /// Ends the lane on its own thread; requires idle().
  void Close();
  /// Runs `task` on the lane before its next operation. False, and it never runs, after Close. Any
  /// thread.
  [[nodiscard]] bool Post(std::function<void()> task);
  bool idle() const { return active_.empty(); }

 private:
  struct Operation {
    core::WriteOp op;
    Transfer transfer;
    std::vector<std::byte*> blocks;            // bounce
    std::vector<std::span<std::byte>> memory;  // what is written, padding included
  };

  void RunTasks();
  bool StartNext();
  void Start(std::unique_ptr<Operation> operation);
  void Gather(Operation* operation);
  std::byte* TakeBlock();
  void StartBlocks(std::unique_ptr<Operation> operation);
  void StartPublish(std::unique_ptr<Operation> operation);
  core::WriteResult Abandon(const core::WriteOp& op);
  int RemoveTemp(uint64_t copy);
  core::WriteResult Unlink(const core::WriteOp& op);
  core::WriteResult Publish(const core::WriteOp& op);
  Result<int> FileOf(const core::WriteOp& op);
  Result<tier::TempFile> CreateTemp(const core::WriteOp& op);
  void End(Operation* operation);
  void Finish(core::OpId id, core::WriteResult result);
  void Release(Operation* operation);

  const LaneContext context_;
  LaneBackend backend_;
  TransferQueue transfers_;
  std::unordered_map<uint64_t, tier::TempFile> temps_;  // by copy
  std::unordered_map<Operation*, std::unique_ptr<Operation>> active_;
  std::vector<Transfer*> ended_;
  size_t finished_ = 0;

  std::mutex tasks_mutex_;
  std::vector<std::function<void()>> tasks_;
  bool takes_tasks_ = true;
};

}  // namespace kvstream::engine
