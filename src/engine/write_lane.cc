#include "engine/write_lane.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "chunk/footer.h"
#include "engine/payload_view.h"

namespace kvstream::engine {
namespace {

uint64_t PaddedBytes(uint64_t bytes) {
  return (bytes + chunk::kAlignBytes - 1) / chunk::kAlignBytes * chunk::kAlignBytes;
}

core::WriteResult ResultOf(int error) { return {error >= 0, error < 0 ? -error : 0, false}; }

}  // namespace

WriteLane::WriteLane(const LaneContext& context, std::unique_ptr<io::IoBackend> backend)
    : context_(context), backend_(std::move(backend)), transfers_(backend_.get()) {}

void WriteLane::Close() {
  KVS_ASSERT(idle());
  {
    const std::lock_guard lock(tasks_mutex_);
    takes_tasks_ = false;
  }
  RunTasks();  // somebody waits for what was posted last
  for (auto& [copy, temp] : temps_) {
    if (temp.fd >= 0) context_.files.Close(temp.fd);
    context_.directory.DiscardTemp(temp.path);  // what stays goes at the next scan
  }
  temps_.clear();
  backend_.Close();
}

bool WriteLane::Post(std::function<void()> task) {
  {
    const std::lock_guard lock(tasks_mutex_);
    if (!takes_tasks_) return false;
    tasks_.push_back(std::move(task));
  }
  Wake();
  return true;
}

void WriteLane::RunTasks() {
  std::vector<std::function<void()>> tasks;
  {
    const std::lock_guard lock(tasks_mutex_);
    tasks.swap(tasks_);
  }
  for (const auto& task : tasks) task();
}

size_t WriteLane::RunOnce(std::chrono::nanoseconds timeout) {
  finished_ = 0;
  RunTasks();
  while (StartNext()) {
  }
  ended_.clear();
  transfers_.Reap(finished_ > 0 ? std::chrono::nanoseconds(0) : timeout, &ended_);
  for (Transfer* transfer : ended_) End(static_cast<Operation*>(transfer->owner));
  return finished_;
}

bool WriteLane::StartNext() {
  auto operation = std::make_unique<Operation>();
  const bool found = context_.core.Call([&](core::Core& core, TimePoint now) {
    return core.NextWrite(context_.tier, now, &operation->op);
  });
  if (found) Start(std::move(operation));
  return found;
}

void WriteLane::Start(std::unique_ptr<Operation> operation) {
  const core::WriteOp& op = operation->op;
  switch (op.kind) {
    case core::WriteOp::Kind::kBlocks:
      Gather(operation.get());
      return StartBlocks(std::move(operation));
    case core::WriteOp::Kind::kPublish:
      return StartPublish(std::move(operation));
    case core::WriteOp::Kind::kAbandon:
      return Finish(op.id, Abandon(op));
    case core::WriteOp::Kind::kUnlink:
      return Finish(op.id, Unlink(op));
    case core::WriteOp::Kind::kProbe: {
      const Status writable = context_.directory.CheckWritable();
      return Finish(op.id,
                    {writable.has_value(), writable ? 0 : writable.error().errno_value(), false});
    }
  }
}

/// Finds the bytes to write; what O_DIRECT would refuse is copied to engine memory.
void WriteLane::Gather(Operation* operation) {
  const core::WriteOp& op = operation->op;
  operation->memory.clear();
  if (op.blocks != nullptr) {
    for (uint32_t index = 0; index < op.block_count; ++index) {
      const uint32_t block = op.first_block + index;
      operation->memory.emplace_back((*op.blocks)[block], PaddedBytes(op.meta->BlockBytes(block)));
    }
    return;
  }
  const uint64_t bytes = op.meta->RangeBytes(op.first_block, op.block_count);
  const auto parts = PayloadRange<const std::byte>(
      *op.segments, uint64_t{op.first_block} * op.meta->block_bytes, bytes);
  if (IsAligned(parts)) {
    for (const auto& part : parts) {
      // An iovec has no const; a write does not change what it points at.
      operation->memory.emplace_back(const_cast<std::byte*>(part.data()), part.size());
    }
    return;
  }
  for (uint32_t index = 0; index < op.block_count; ++index) {
    operation->blocks.push_back(TakeBlock());
    operation->memory.emplace_back(operation->blocks[index],
                                   op.meta->BlockBytes(op.first_block + index));
  }
  CopyParts(parts, operation->memory);
  std::span<std::byte>& tail = operation->memory.back();
  const uint64_t padded = PaddedBytes(tail.size());
  std::memset(tail.data() + tail.size(), 0, padded - tail.size());
  tail = {tail.data(), padded};
}

/// The pool is larger than the window of writes and the footers beside it, so there always is one.
std::byte* WriteLane::TakeBlock() {
  std::byte* block = context_.blocks.TryTake();
  KVS_ASSERT(block != nullptr);
  return block;
}

Result<int> WriteLane::FileOf(const core::WriteOp& op) {
  const auto found = temps_.find(op.copy);
  if (found != temps_.end()) return found->second.fd;
  KVS_TRY_ASSIGN(tier::TempFile temp, CreateTemp(op));
  const int fd = temp.fd;
  temps_.emplace(op.copy, std::move(temp));
  return fd;
}

Result<tier::TempFile> WriteLane::CreateTemp(const core::WriteOp& op) {
  const auto create = [&] {
    return context_.directory.CreateTemp(context_.namespaces.FingerprintOf(op.meta->ns),
                                         op.meta->key, context_.direct, op.meta->FileBytes());
  };
  Result<tier::TempFile> temp = create();
  if (temp || temp.error().errno_value() != ENOENT) return temp;
  // The tier could not make the namespace when it was opened, or somebody has removed it since.
  const std::optional<Identity> identity = context_.namespaces.IdentityOf(op.meta->ns);
  if (!identity) return temp;
  KVS_TRY(context_.directory.CreateNamespace(*identity));
  return create();
}

void WriteLane::StartBlocks(std::unique_ptr<Operation> owned) {
  Operation* operation = owned.get();
  active_.emplace(operation, std::move(owned));
  const core::WriteOp& op = operation->op;
  const Result<int> fd = FileOf(op);
  if (!fd) {
    const core::OpId id = op.id;
    const int error = fd.error().errno_value() != 0 ? fd.error().errno_value() : EIO;
    Release(operation);
    return Finish(id, {false, error, false});
  }
  operation->transfer.owner = operation;
  operation->transfer.Prepare(io::IoRequest::Kind::kWrite, *fd,
                              uint64_t{op.first_block} * op.meta->block_bytes, operation->memory,
                              context_.request_bytes_max());
  transfers_.Start(operation->transfer);
}

void WriteLane::StartPublish(std::unique_ptr<Operation> owned) {
  Operation* operation = owned.get();
  std::byte* block = TakeBlock();
  active_.emplace(operation, std::move(owned));
  operation->blocks.push_back(block);
  const core::WriteOp& op = operation->op;
  const auto found = temps_.find(op.copy);
  KVS_ASSERT(found != temps_.end());  // a copy has at least one block
  chunk::EncodeFooter(*op.meta, context_.namespaces.FingerprintOf(op.meta->ns),
                      context_.directory.owner(),
                      std::span<std::byte, chunk::kFooterBytes>(block, chunk::kFooterBytes));
  operation->memory.emplace_back(block, chunk::kFooterBytes);
  operation->transfer.owner = operation;
  operation->transfer.Prepare(io::IoRequest::Kind::kWrite, found->second.fd,
                              op.meta->FooterOffset(), operation->memory,
                              context_.request_bytes_max());
  transfers_.Start(operation->transfer);
}

void WriteLane::End(Operation* operation) {
  const core::WriteOp op = operation->op;
  core::WriteResult result = ResultOf(-operation->transfer.errno_value);
  if (operation->transfer.short_read) result = {false, EIO, false};  // a write that ended short
  Release(operation);
  if (op.kind == core::WriteOp::Kind::kPublish) {
    if (result.ok) {
      result = Publish(op);
    } else {
      result.temp_left = Abandon(op).temp_left;
    }
  }
  Finish(op.id, result);
}

core::WriteResult WriteLane::Publish(const core::WriteOp& op) {
  tier::TempFile& temp = temps_.at(op.copy);
  const int closed = context_.files.Close(std::exchange(temp.fd, -1));
  const int published =
      closed < 0 ? closed
                 : context_.directory.Publish(
                       temp.path, context_.namespaces.FingerprintOf(op.meta->ns), op.meta->key);
  core::WriteResult result = ResultOf(published);
  if (result.ok) {
    temps_.erase(op.copy);
  } else {
    result.temp_left = RemoveTemp(op.copy) < 0;
  }
  return result;
}

core::WriteResult WriteLane::Abandon(const core::WriteOp& op) {
  const int removed = RemoveTemp(op.copy);
  core::WriteResult result = ResultOf(removed);
  result.temp_left = removed < 0;
  return result;
}

/// Removes the copy's temporary file. 0, or a negative errno: then its name is kept for another
/// try.
int WriteLane::RemoveTemp(uint64_t copy) {
  const auto found = temps_.find(copy);
  if (found == temps_.end()) return 0;  // it could not be created
  tier::TempFile& temp = found->second;
  if (temp.fd >= 0) context_.files.Close(std::exchange(temp.fd, -1));
  const int removed = context_.directory.DiscardTemp(temp.path);
  if (removed < 0 && removed != -ENOENT) return removed;
  temps_.erase(found);
  return 0;
}

core::WriteResult WriteLane::Unlink(const core::WriteOp& op) {
  const int result =
      context_.directory.RemoveChunk(context_.namespaces.FingerprintOf(op.meta->ns), op.meta->key);
  return result == -ENOENT ? core::WriteResult{true, 0, false} : ResultOf(result);
}

void WriteLane::Release(Operation* operation) {
  for (std::byte* block : operation->blocks) context_.blocks.Give(block);
  active_.erase(operation);
}

void WriteLane::Finish(core::OpId id, core::WriteResult result) {
  ++finished_;
  context_.core.Call([&](core::Core& core, TimePoint now) { core.FinishWrite(id, result, now); });
}

}  // namespace kvstream::engine
