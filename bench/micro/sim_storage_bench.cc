// The storage half of kvsim: pieces that a second of processor time reads.

#include <cstdint>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/assert.h"
#include "sim/node_storage.h"

namespace kvstream::sim {
namespace {

constexpr uint64_t kChunkBytes = 16 * kMiB;

class Listener final : public StorageListener {
 public:
  void OnStepRead(const StepStorage& /*step*/) override { read_ = true; }
  void OnWriteAccepted() override {}
  void Await(EventQueue& queue) {
    while (!read_) KVS_ASSERT(queue.RunNext());
    read_ = false;
  }

 private:
  bool read_ = false;
};

/// One node that reads a step of `chunks` chunks from `tiers` tiers again and again.
void BM_StepRead(benchmark::State& state) {
  const auto tier_count = static_cast<uint32_t>(state.range(0));
  const auto chunk_count = static_cast<uint32_t>(state.range(1));
  std::vector<TierModel> tiers(tier_count);
  for (uint32_t tier = 0; tier < tier_count; ++tier) {
    tiers[tier].name = std::to_string(tier);
    tiers[tier].series.base = {.read = 3e9 / (tier + 1), .write = 1e9};
  }
  EventQueue queue;
  const DeviceSet devices(tiers, 1, 1, 1, queue);
  Listener listener;
  NodeStorage storage(devices, 0, {}, queue, listener);
  std::vector<StorageChunk> chunks;
  for (uint32_t id = 0; id < chunk_count; ++id) {
    chunks.push_back(
        {.id = id, .position = id, .prefix_chunks = chunk_count, .bytes = kChunkBytes});
    KVS_ASSERT(storage.SetHolders(chunks.back(), static_cast<TierMask>((1u << tier_count) - 1)));
  }
  const uint64_t claims = storage.totals().claims;
  for (auto _ : state) {
    storage.SubmitStep({.chunks = chunks});
    listener.Await(queue);
  }
  KVS_ASSERT(storage.CheckConservation());
  state.counters["pieces/s"] = benchmark::Counter(
      static_cast<double>(storage.totals().claims - claims), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_StepRead)
    ->ArgNames({"tiers", "chunks"})
    ->Args({1, 100})
    ->Args({2, 100})
    ->Args({2, 400})
    ->Args({2, 2000})
    ->Args({4, 400});

}  // namespace
}  // namespace kvstream::sim

BENCHMARK_MAIN();
