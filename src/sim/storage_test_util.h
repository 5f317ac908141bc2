#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "sim/node_storage.h"

namespace kvstream::sim {

inline constexpr double kGb = 1e9;

inline TierModel MakeTier(std::string name, double read_gb, double write_gb) {
  TierModel tier;
  tier.name = std::move(name);
  tier.series.base = {.read = read_gb * kGb, .write = write_gb * kGb};
  return tier;
}

/// One node whose steps a test runs one after the other.
class StorageRig final : public StorageListener {
 public:
  explicit StorageRig(std::vector<TierModel> tiers, const StorageOptions& options = {},
                      uint64_t seed = 1)
      : tiers_(std::move(tiers)),
        devices_(tiers_, /*nodes=*/1, /*ranks=*/1, seed, queue_),
        storage_(devices_, 0, options, queue_, *this) {}

  /// Puts `count` chunks of `bytes` on `holders` as one prefix; returns them.
  std::vector<StorageChunk> Preload(uint32_t count, uint64_t bytes, TierMask holders) {
    std::vector<StorageChunk> chunks = MakeChunks(count, bytes);
    for (const StorageChunk& chunk : chunks) EXPECT_TRUE(storage_.SetHolders(chunk, holders));
    return chunks;
  }
  std::vector<StorageChunk> MakeChunks(uint32_t count, uint64_t bytes) {
    std::vector<StorageChunk> chunks;
    for (uint32_t i = 0; i < count; ++i) {
      chunks.push_back({.id = next_id_++, .position = i, .prefix_chunks = count, .bytes = bytes});
    }
    return chunks;
  }

  StepStorage Read(std::span<const StorageChunk> chunks,
                   std::span<const uint32_t> request_ends = {}, uint64_t host_bytes = 0) {
    read_ = false;
    storage_.SubmitStep({chunks, request_ends, host_bytes});
    EXPECT_FALSE(read_) << "answered from inside the call";
    while (!read_ && queue_.RunNext()) {
    }
    EXPECT_TRUE(read_) << "nothing is left to happen, and the step is not read";
    const Status conserved = storage_.CheckConservation();
    EXPECT_TRUE(conserved) << conserved.error().ToString();
    return step_;
  }
  /// Returns what the step waited for.
  double Write(std::span<const StorageChunk> chunks) {
    accepted_ = false;
    const double from = queue_.now_s();
    storage_.Write(chunks);
    EXPECT_FALSE(accepted_) << "answered from inside the call";
    while (!accepted_ && queue_.RunNext()) {
    }
    EXPECT_TRUE(accepted_) << "nothing is left to happen, and the writes are not accepted";
    return queue_.now_s() - from;
  }
  void Forward(double seconds) {
    storage_.ForwardBegan();
    queue_.RunUntil(queue_.now() + SecondsUp(seconds));
  }
  void Drain() {
    storage_.ForwardBegan();
    while (!storage_.idle() && queue_.RunNext()) {
    }
    EXPECT_TRUE(storage_.idle());
    const Status conserved = storage_.CheckConservation();
    EXPECT_TRUE(conserved) << conserved.error().ToString();
  }

  NodeStorage& storage() { return storage_; }
  EventQueue& queue() { return queue_; }
  const DeviceSet& devices() const { return devices_; }

  void OnStepRead(const StepStorage& step) override {
    step_ = step;
    read_ = true;
  }
  void OnWriteAccepted() override { accepted_ = true; }

 private:
  EventQueue queue_;
  std::vector<TierModel> tiers_;
  DeviceSet devices_;
  NodeStorage storage_;
  StepStorage step_;
  uint32_t next_id_ = 0;
  bool read_ = false;
  bool accepted_ = false;
};

}  // namespace kvstream::sim
