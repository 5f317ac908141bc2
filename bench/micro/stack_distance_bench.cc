#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/prng.h"
#include "cache/stack_distance.h"

namespace kvstream::cache {
namespace {

// Prompts of 100 to 400 chunks from 2,500 sessions that take turns at random: 1 M distinct chunks.
constexpr uint32_t kSessions = 2'500;
constexpr uint32_t kSessionSlots = 400;

template <typename TouchOne>
void TouchPrompts(benchmark::State& state, TouchOne touch) {
  base::Prng prng(1);
  int64_t accesses = 0;
  for (auto _ : state) {
    const auto first = static_cast<uint32_t>(prng.Below(kSessions)) * kSessionSlots;
    const auto slots = static_cast<uint32_t>(100 + prng.Below(kSessionSlots - 100));
    for (uint32_t i = 0; i < slots; ++i) touch(first + i);
    accesses += slots;
  }
  state.SetItemsProcessed(accesses);
}

void Exact(benchmark::State& state) {
  StackDistances distances;
  ReuseHistogram histogram;
  for (uint32_t slot = 0; slot < kSessions * kSessionSlots; ++slot) distances.Touch(slot);
  TouchPrompts(state, [&](uint32_t slot) { histogram.Record(distances.Touch(slot)); });
  state.counters["reuses"] = static_cast<double>(histogram.reuses());
}
BENCHMARK(Exact);

void SampledOneInHundred(benchmark::State& state) {
  SampledStackDistances sampled(0.01, 1);
  TouchPrompts(state, [&](uint32_t slot) { sampled.Touch(slot); });
  state.counters["sampled"] = static_cast<double>(sampled.sampled_accesses());
}
BENCHMARK(SampledOneInHundred);

}  // namespace
}  // namespace kvstream::cache

BENCHMARK_MAIN();
