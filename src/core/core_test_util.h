#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/core.h"

namespace kvstream::core {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

inline constexpr uint32_t kTestBlockBytes = 4096;

inline ChunkKey TestKey(uint64_t number) {
  const std::string text = std::to_string(number);
  const std::string_view part = text;
  return ChunkKey::FromParts({&part, 1});
}

inline chunk::MetaRef TestMeta(uint64_t number, uint32_t blocks, uint64_t generation = 1) {
  chunk::MetaRef meta = chunk::MetaRef::Create(0, TestKey(number),
                                               uint64_t{blocks} * kTestBlockBytes, kTestBlockBytes);
  meta.mutable_meta().write_id = number * 1000 + generation;
  meta.mutable_meta().generation_ns = generation;
  return meta;
}

/// A core without lanes: the test is lanes, host and clock.
class CoreTestBase : public testing::Test {
 protected:
  void Open(uint32_t tiers, bool bounce) {
    for (uint32_t tier = 0; tier < tiers; ++tier) {
      CoreTier each;
      each.name = "t" + std::to_string(tier);
      each.capacity_bytes = 100 * kTestBlockBytes;
      each.bounce = bounce;
      options_.tiers.push_back(each);
    }
    options_.block_bytes = kTestBlockBytes;
    options_.bounce_blocks = uint64_t{64} * tiers;
    options_.write.stage_bytes = 16 * kTestBlockBytes;
    core_ = std::make_unique<Core>(options_);
    for (uint32_t tier = 0; tier < tiers; ++tier) core_->SetReady(tier, now_);
  }

  /// Tells the core of a chunk on each tier of the mask.
  void Find(uint64_t number, uint32_t blocks, TierMask tiers) {
    const chunk::MetaRef meta = TestMeta(number, blocks);
    for (uint32_t tier = 0; tier < options_.tier_count(); ++tier) {
      const FoundChunk found{meta, true};
      if ((tiers >> tier & 1) != 0) core_->AddFound(tier, {&found, 1}, now_);
    }
  }

  JobId Read(uint64_t number, uint32_t blocks, TimePoint deadline = kNoDeadline) {
    const size_t bytes = size_t{blocks} * kTestBlockBytes;
    memory_.emplace_back(static_cast<std::byte*>(std::aligned_alloc(kTestBlockBytes, bytes)),
                         &std::free);
    std::vector<ReadRequest> items(1);
    items[0] = {TestKey(number), {{memory_.back().get(), bytes}}};
    return core_->Read(0, std::move(items), deadline, 0, now_);
  }

  /// Stages a chunk; the blocks are only passed through by the core.
  WriteAccept Write(uint64_t number, uint32_t blocks, bool replace = false) {
    const JobId job = core_->BeginWrite(1, now_);
    const uint64_t bytes = uint64_t{blocks} * kTestBlockBytes;
    const Admission admission =
        core_->Admit({job, 0, 0, TestKey(number), bytes, false, replace}, now_);
    if (admission.accept == WriteAccept::kStaged) {
      core_->Commit(admission.stage, core_->NewMeta(0, TestKey(number), bytes, 1),
                    std::vector<std::byte*>(blocks, &block_), {}, replace, now_);
    } else {
      core_->SettleUnstaged(job, 0, admission.accept, 0, TestKey(number), now_);
    }
    return admission.accept;
  }

  bool NextRead(uint32_t tier, ReadOp* op) { return core_->NextRead(tier, now_, op); }
  bool NextWrite(uint32_t tier, WriteOp* op) { return core_->NextWrite(tier, now_, op); }

  /// As a read lane ends an operation whose bytes are right. False: it was overtaken.
  bool Deliver(const ReadOp& op) {
    const bool delivered = !op.bounce || core_->BeginLanding(op.id) != nullptr;
    Finish(op, delivered ? ReadOutcome::kDelivered : ReadOutcome::kOvertaken);
    return delivered;
  }
  void Finish(const ReadOp& op, ReadOutcome outcome) {
    core_->FinishRead(op.id, {outcome, outcome == ReadOutcome::kFailed ? EIO : 0, {}}, now_);
  }
  void Finish(const WriteOp& op, int error = 0) {
    core_->FinishWrite(op.id, {error == 0, error, false}, now_);
  }
  void RunWrites(uint32_t tier) {
    for (WriteOp op; NextWrite(tier, &op);) Finish(op);
  }

  void Pass(nanoseconds time) {
    now_ += time;
    core_->Tick(now_);
  }
  Stats GetStats() const { return core_->GetStats(now_); }

  CoreOptions options_;
  std::unique_ptr<Core> core_;
  TimePoint now_ = TimePoint(std::chrono::hours(1));
  std::byte block_{};
  std::vector<std::unique_ptr<std::byte, decltype(&std::free)>> memory_;
};

}  // namespace kvstream::core
