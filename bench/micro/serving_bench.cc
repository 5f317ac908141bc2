#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/assert.h"
#include "sim/memory_cache.h"
#include "sim/simulation.h"
#include "trace/arrivals.h"
#include "trace/request_trace.h"

namespace kvstream::sim {
namespace {

constexpr uint64_t kChunkBytes = 20u << 20;

trace::RequestTrace AgentTrace(uint32_t sessions) {
  auto loaded =
      trace::LoadTrace("builtin:agent,context=40000,seed=1,sessions=" + std::to_string(sessions),
                       {.order = trace::Order::kInterleave, .window = 40});
  trace::RequestTrace trace;
  if (loaded) trace = std::move(*loaded);
  const Status applied = trace::ApplyArrivals(
      trace, {.process = trace::ArrivalProcess::kPoisson, .rate_per_s = 2, .seed = 1});
  KVS_ASSERT(applied.has_value());
  return trace;
}

// What a request costs in the cache part: match its prefix, admit, finish. M holds a quarter of the
// chunks, so all of hits, misses and evictions occur.
void BM_ChunkAccess(benchmark::State& state) {
  const trace::RequestTrace trace = AgentTrace(100);
  const uint64_t memory_bytes = trace.chunk_count / 4 * kChunkBytes;
  MemoryCache memory({.gpu_bytes = memory_bytes / 3, .host_bytes = memory_bytes * 2 / 3},
                     kChunkBytes);
  std::vector<uint64_t> ids;
  uint64_t hits = 0;
  uint64_t accesses = 0;
  size_t next = 0;
  for (auto _ : state) {
    trace.ChunkIds(trace.requests[next++ % trace.requests.size()], ids);
    size_t leading = 0;
    while (leading < ids.size() &&
           memory.Find(static_cast<uint32_t>(ids[leading])) != MemoryCache::Place::kNone) {
      ++leading;
    }
    KVS_ASSERT(memory.Fits(ids, 0));
    memory.Admit(ids, 0);
    memory.Finish(ids, 0);
    hits += leading;
    accesses += ids.size();
  }
  state.SetItemsProcessed(static_cast<int64_t>(accesses));
  state.counters["hit_share"] = static_cast<double>(hits) / static_cast<double>(accesses);
}
BENCHMARK(BM_ChunkAccess);

// Whole runs in trace mode; the argument is the number of tiers. The hash is that of the work.
void BM_Run(benchmark::State& state) {
  const trace::RequestTrace trace = AgentTrace(60);
  Scenario scenario;
  scenario.trace = &trace;
  scenario.model = *model::FindModel("70B");
  scenario.gpu = *model::FindGpu("H100-80GB");
  for (int64_t tier = 0; tier < state.range(0); ++tier) {
    TierModel model;
    model.name = "tier" + std::to_string(tier);
    model.series.base = {.read = 7e9, .write = 5e9};
    scenario.tiers.push_back(model);
  }
  uint64_t hash = 0;
  for (auto _ : state) {
    auto results = Run(scenario);
    KVS_ASSERT(results.has_value());
    hash = results->hash;
  }
  state.counters["requests/s"] = benchmark::Counter(static_cast<double>(trace.requests.size()),
                                                    benchmark::Counter::kIsIterationInvariantRate);
  state.SetLabel("hash " + std::to_string(hash));
}
BENCHMARK(BM_Run)->ArgName("tiers")->Arg(0)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kvstream::sim

BENCHMARK_MAIN();
