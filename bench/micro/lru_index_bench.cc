#include <algorithm>
#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/prng.h"
#include "cache/lru_index.h"

namespace kvstream::cache {
namespace {

constexpr uint64_t kChunkBytes = 16u << 20;

// As the simulator uses it: a touch, and on a miss an eviction and an insertion. Keys are skewed
// (the smaller of two uniform draws), so that hits and misses both occur: 500,000 of 1,000,000
// chunks fit.
void TouchOrReplace(benchmark::State& state) {
  constexpr uint32_t kSlots = 1'000'000;
  LruIndex index(kSlots / 2 * kChunkBytes);
  base::Prng prng(1);
  std::vector<uint32_t> accesses(1 << 20);
  for (uint32_t& slot : accesses) {
    slot = static_cast<uint32_t>(std::min(prng.Below(kSlots), prng.Below(kSlots)));
  }
  uint64_t misses = 0;
  size_t next = 0;
  for (auto _ : state) {
    const uint32_t slot = accesses[next++ % accesses.size()];
    if (index.Touch(slot)) continue;
    ++misses;
    while (!index.Insert(slot, kChunkBytes)) index.Erase(*index.Victim());
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
  state.counters["miss_share"] =
      static_cast<double>(misses) / static_cast<double>(state.iterations());
}
BENCHMARK(TouchOrReplace);

// Touches along prefixes: neighbours in the list are neighbours in memory.
void TouchPrefixes(benchmark::State& state) {
  constexpr uint32_t kSlots = 1'000'000;
  constexpr uint32_t kPrefixSlots = 400;
  LruIndex index(kSlots * kChunkBytes);
  for (uint32_t slot = 0; slot < kSlots; ++slot) index.Adopt(slot, kChunkBytes);
  base::Prng prng(1);
  for (auto _ : state) {
    const auto first = static_cast<uint32_t>(prng.Below(kSlots - kPrefixSlots));
    for (uint32_t i = kPrefixSlots; i-- > 0;) benchmark::DoNotOptimize(index.Touch(first + i));
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * kPrefixSlots);
}
BENCHMARK(TouchPrefixes);

// Every slot but the newest is pinned, and one after the other is let go, taken and put back: the
// scan for a victim must not start at the tail each time.
void VictimBehindPins(benchmark::State& state) {
  const auto slots = static_cast<uint32_t>(state.range(0));
  LruIndex index(slots * kChunkBytes);
  for (uint32_t slot = 0; slot < slots; ++slot) {
    index.Adopt(slot, kChunkBytes);
    index.Pin(slot);
  }
  uint32_t slot = 0;
  for (auto _ : state) {
    index.Unpin(slot);
    index.Erase(*index.Victim());
    benchmark::DoNotOptimize(index.Victim());
    index.Adopt(slot, kChunkBytes);
    index.Pin(slot);
    slot = (slot + 1) % slots;
  }
}
BENCHMARK(VictimBehindPins)->Arg(1'000)->Arg(1'000'000);

}  // namespace
}  // namespace kvstream::cache

BENCHMARK_MAIN();
