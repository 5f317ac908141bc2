#include "engine/read_lane.h"

#include <cerrno>

#include "base/assert.h"
#include "chunk/crc32c.h"
#include "engine/payload_view.h"

namespace kvstream::engine {
namespace {

uint64_t PayloadBegin(const core::ReadOp& op) {
  return uint64_t{op.first_block} * op.meta->block_bytes;
}

core::ReadResult Failed(int errno_value) { return {core::ReadOutcome::kFailed, errno_value, {}}; }

}  // namespace

ReadLane::ReadLane(const LaneContext& context, std::unique_ptr<io::IoBackend> backend)
    : context_(context),
      backend_(std::move(backend)),
      transfers_(backend_.get()),
      open_files_(context_) {}

void ReadLane::Close() {
  KVS_ASSERT(idle());
  open_files_.CloseIdle();
  backend_.Close();
}

size_t ReadLane::RunOnce(std::chrono::nanoseconds timeout) {
  finished_ = 0;
  while (StartNext()) {
  }
  if (active_.empty()) open_files_.CloseIdle();
  ended_.clear();
  transfers_.Reap(finished_ > 0 ? std::chrono::nanoseconds(0) : timeout, &ended_);
  for (Transfer* transfer : ended_) End(static_cast<Operation*>(transfer->owner));
  return finished_;
}

bool ReadLane::StartNext() {
  core::ReadOp op;
  const bool found = context_.core.Call(
      [&](core::Core& core, TimePoint now) { return core.NextRead(context_.tier, now, &op); });
  if (!found) return false;
  if (op.kind != core::ReadOp::Kind::kBlocks) {
    RunControl(op);
    return true;
  }
  auto operation = std::make_unique<Operation>();
  operation->op = std::move(op);
  StartRead(std::move(operation));
  return true;
}

void ReadLane::RunControl(const core::ReadOp& op) {
  core::ReadResult result{core::ReadOutcome::kMissing, 0, {}};
  if (op.kind == core::ReadOp::Kind::kProbe) {
    const Status present = context_.directory.CheckPresent();
    result = present ? core::ReadResult{core::ReadOutcome::kFound, 0, {}}
                     : Failed(present.error().errno_value());
  } else {
    auto footer =
        context_.directory.FindChunk(context_.namespaces.FingerprintOf(op.ns), op.key, op.ns);
    if (footer) {
      result = {core::ReadOutcome::kFound, 0, footer->meta};
    } else if (footer.error().code() == ErrorCode::kIo) {
      result = Failed(footer.error().errno_value());
    }
  }
  ++finished_;
  context_.core.Call(
      [&](core::Core& core, TimePoint now) { core.FinishRead(op.id, std::move(result), now); });
}

void ReadLane::StartRead(std::unique_ptr<Operation> owned) {
  Operation* operation = owned.get();
  active_.emplace(operation, std::move(owned));
  Result<std::shared_ptr<OpenFile>> file = open_files_.Acquire(*operation->op.meta);
  if (!file) {
    if (file.error().code() != ErrorCode::kIo) return FinishBad(operation);
    return Finish(operation, Failed(file.error().errno_value()));
  }
  operation->file = *std::move(file);
  PointAtMemory(operation);
  operation->transfer.owner = operation;
  operation->transfer.Prepare(io::IoRequest::Kind::kRead, operation->file->fd(),
                              PayloadBegin(operation->op), operation->memory,
                              context_.request_bytes_max());
  transfers_.Start(operation->transfer);
}

/// Where the bytes go: engine blocks, or the caller's segments.
void ReadLane::PointAtMemory(Operation* operation) const {
  const core::ReadOp& op = operation->op;
  operation->memory.clear();
  if (!op.bounce) {
    operation->memory = PayloadRange<std::byte>(
        *op.segments, PayloadBegin(op), op.meta->RangeBytes(op.first_block, op.block_count));
    return;
  }
  for (uint32_t index = 0; index < op.block_count; ++index) {
    if (operation->blocks.size() <= index) {
      std::byte* block = context_.blocks.TryTake();
      KVS_ASSERT(block != nullptr);  // the core claims no more than the tier's share
      operation->blocks.push_back(block);
    }
    const uint64_t bytes = op.meta->BlockBytes(op.first_block + index);
    const uint64_t padded =
        (bytes + chunk::kAlignBytes - 1) / chunk::kAlignBytes * chunk::kAlignBytes;
    operation->memory.emplace_back(operation->blocks[index], padded);
  }
}

void ReadLane::End(Operation* operation) {
  const Transfer& transfer = operation->transfer;
  if (transfer.errno_value != 0) return Finish(operation, Failed(transfer.errno_value));
  if (transfer.short_read || (context_.verify && !Verify(*operation))) return FinishBad(operation);
  const bool delivered = !operation->op.bounce || Deliver(*operation);
  Finish(operation,
         {delivered ? core::ReadOutcome::kDelivered : core::ReadOutcome::kOvertaken, 0, {}});
}

bool ReadLane::Verify(const Operation& operation) const {
  const core::ReadOp& op = operation.op;
  const std::span<const uint32_t> crcs = op.meta->crcs();
  uint64_t begin = 0;
  for (uint32_t index = 0; index < op.block_count; ++index) {
    const uint32_t bytes = op.meta->BlockBytes(op.first_block + index);
    const uint32_t crc =
        op.bounce ? chunk::Crc32c({operation.blocks[index], bytes})
                  : PartsCrc32c(ReadOnly(PayloadRange<std::byte>(operation.memory, begin, bytes)));
    if (crc != crcs[op.first_block + index]) return false;
    begin += bytes;
  }
  return true;
}

/// Copies a verified bounced piece to the caller, unless another tier was faster.
bool ReadLane::Deliver(const Operation& operation) {
  const core::ReadOp& op = operation.op;
  const core::Segments* segments =
      context_.core.Call([&](core::Core& core, TimePoint) { return core.BeginLanding(op.id); });
  if (segments == nullptr) return false;
  std::vector<std::span<const std::byte>> from;
  for (uint32_t index = 0; index < op.block_count; ++index) {
    from.emplace_back(operation.blocks[index], op.meta->BlockBytes(op.first_block + index));
  }
  CopyParts(from, PayloadRange<std::byte>(*segments, PayloadBegin(op),
                                          op.meta->RangeBytes(op.first_block, op.block_count)));
  return true;
}

core::ReadResult ReadLane::Diagnose(const Operation& operation) const {
  const chunk::ChunkMeta& wanted = *operation.op.meta;
  auto footer = context_.directory.FindChunk(context_.namespaces.FingerprintOf(wanted.ns),
                                             wanted.key, wanted.ns);
  if (footer) {
    if (footer->meta->write_id != wanted.write_id) {
      return {core::ReadOutcome::kReplaced, 0, footer->meta};
    }
    return {operation.transfer.short_read ? core::ReadOutcome::kShort : core::ReadOutcome::kCorrupt,
            0,
            {}};
  }
  switch (footer.error().code()) {
    case ErrorCode::kNotFound:
      return {core::ReadOutcome::kMissing, 0, {}};
    case ErrorCode::kIo:
      return Failed(footer.error().errno_value());
    default:
      break;
  }
  return {operation.transfer.short_read ? core::ReadOutcome::kShort : core::ReadOutcome::kCorrupt,
          0,
          {}};
}

/// Bytes that do not fit the version: read once more from the path as it is now, in case the error
/// was on the way or the file was just replaced; then ask the file who it is.
void ReadLane::FinishBad(Operation* operation) {
  open_files_.Forget(*operation->op.meta);
  operation->file.reset();
  const core::ReadResult result = Diagnose(*operation);
  const bool same_version = result.outcome == core::ReadOutcome::kCorrupt;
  if (!same_version || operation->second_try) return Finish(operation, result);
  operation->second_try = true;
  const auto found = active_.find(operation);
  std::unique_ptr<Operation> owned = std::move(found->second);
  active_.erase(found);
  StartRead(std::move(owned));
}

void ReadLane::Finish(Operation* operation, core::ReadResult result) {
  for (std::byte* block : operation->blocks) context_.blocks.Give(block);
  const core::OpId id = operation->op.id;
  active_.erase(operation);
  ++finished_;
  context_.core.Call(
      [&](core::Core& core, TimePoint now) { core.FinishRead(id, std::move(result), now); });
}

}  // namespace kvstream::engine
