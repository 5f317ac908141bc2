// The engine's index without any chunk file: metadata of 16 MiB chunks on two tiers. 1,000,000
// chunks, or as many as KVS_BENCH_CHUNKS says.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <malloc.h>

#include "kvstream/engine.h"

#include "base/assert.h"
#include "base/prng.h"
#include "chunk/fingerprint.h"
#include "core/core.h"
#include "io/posix_file_system.h"
#include "testing/temp_dir.h"
#include "tier/tier_directory.h"

namespace kvstream {
namespace {

constexpr uint64_t kChunkBytes = 16 * kMiB;
constexpr uint32_t kTiers = 2;
constexpr size_t kBatchKeys = 256;  // a prompt of 64K tokens

uint64_t ChunkCount() {
  const char* const text = std::getenv("KVS_BENCH_CHUNKS");
  return text == nullptr ? 1'000'000 : std::strtoull(text, nullptr, 10);
}

/// Digests are uniform bits, and so are these.
ChunkKey KeyOf(uint64_t number) {
  base::Prng prng(number + 1);
  ChunkKey key;
  for (std::byte& byte : key.bytes) byte = static_cast<std::byte>(prng.Next());
  return key;
}

chunk::MetaRef MetaOf(uint64_t number) {
  chunk::MetaRef meta = chunk::MetaRef::Create(0, KeyOf(number), kChunkBytes);
  meta.mutable_meta().write_id = number + 1;
  meta.mutable_meta().generation_ns = number + 1;
  for (uint32_t& crc : meta.mutable_meta().crcs()) crc = static_cast<uint32_t>(number);
  return meta;
}

/// All keys in random order; a tenth of them again under numbers that no chunk has.
std::vector<ChunkKey> PreparedKeys() {
  const uint64_t chunks = ChunkCount();
  std::vector<ChunkKey> keys;
  for (uint64_t number = 0; number < chunks + chunks / 10; ++number) keys.push_back(KeyOf(number));
  base::Prng prng(7);
  for (size_t left = keys.size(); left > 1; --left) {
    std::swap(keys[left - 1], keys[prng.Below(left)]);
  }
  return keys;
}

uint64_t HeapBytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

core::CoreOptions IndexOptions() {
  core::CoreOptions options;
  for (uint32_t tier = 0; tier < kTiers; ++tier) {
    core::CoreTier one;
    one.name = fmt::format("t{}", tier);
    one.capacity_bytes = 2 * ChunkCount() * kChunkBytes;
    options.tiers.push_back(one);
  }
  return options;
}

/// As a snapshot of each tier fills it: every tier brings a meta of its own, the first one stays.
std::unique_ptr<core::Core> FilledCore() {
  auto core = std::make_unique<core::Core>(IndexOptions());
  for (uint32_t tier = 0; tier < kTiers; ++tier) {
    for (uint64_t first = 0; first < ChunkCount(); first += kBatchKeys) {
      std::vector<core::FoundChunk> found;
      const uint64_t end = std::min(first + kBatchKeys, ChunkCount());
      for (uint64_t number = first; number < end; ++number) found.push_back({MetaOf(number), true});
      core->AddFound(tier, found, TimePoint::min());
    }
  }
  return core;
}

template <typename LookupBatch>
void LookUpAll(benchmark::State& state, const LookupBatch& lookup) {
  const std::vector<ChunkKey> keys = PreparedKeys();
  std::vector<LookupResult> results(kBatchKeys);
  size_t at = 0;
  uint64_t looked_up = 0;
  uint64_t hits = 0;
  for (auto _ : state) {
    if (at + kBatchKeys > keys.size()) at = 0;
    lookup(std::span(keys).subspan(at, kBatchKeys), std::span(results));
    at += kBatchKeys;
    looked_up += kBatchKeys;
    for (const LookupResult& result : results) hits += result.hit() ? 1 : 0;
  }
  state.SetItemsProcessed(static_cast<int64_t>(looked_up));
  state.counters["chunks"] = static_cast<double>(ChunkCount());
  state.counters["hit_share"] = static_cast<double>(hits) / static_cast<double>(looked_up);
}

void LookUpInCore(benchmark::State& state) {
  const uint64_t before = HeapBytes();
  const auto core = FilledCore();
  const uint64_t index_bytes = HeapBytes() - before;
  KVS_ASSERT(core->index().size() == ChunkCount());
  LookUpAll(state, [&](std::span<const ChunkKey> keys, std::span<LookupResult> results) {
    core->Lookup(0, keys, results);
  });
  state.counters["index_bytes"] = static_cast<double>(index_bytes);
}
BENCHMARK(LookUpInCore);

Identity BenchIdentity() {
  Identity identity;
  identity.model = "index-bench";
  return identity;
}

/// Two tier directories whose snapshots name chunks that have no files, closed cleanly.
class SnapshotTiers {
 public:
  SnapshotTiers() {
    tier::Snapshot snapshot;
    snapshot.fingerprints = {chunk::Fingerprint::Of(BenchIdentity())};
    for (uint64_t number = 0; number < ChunkCount(); ++number) {
      snapshot.entries.push_back({0, true, MetaOf(number)});
    }
    std::vector<tier::TierDirectoryOptions> directories;
    for (const TierOptions& tier : options().tiers) {
      std::filesystem::create_directory(tier.directory);
      directories.push_back({tier.name, tier.directory.string(), "bench", "bench", 1});
    }
    auto tiers = tier::TierDirectory::OpenAll(files_, directories);
    KVS_ASSERT(tiers.has_value());
    for (const auto& tier : *tiers) KVS_ASSERT(tier->WriteSnapshot(snapshot, true).has_value());
  }

  EngineOptions options() const {
    EngineOptions options;
    for (uint32_t number = 0; number < kTiers; ++number) {
      TierOptions tier;
      tier.name = fmt::format("t{}", number);
      tier.directory = folder_.path() / tier.name;
      tier.capacity_bytes = 2 * ChunkCount() * kChunkBytes;
      options.tiers.push_back(tier);
    }
    options.owner = "bench";
    options.write.stage_bytes = 32 * kMiB;
    options.bounce_bytes = 32 * kMiB;
    return options;
  }

 private:
  io::PosixFileSystem files_;
  test::TempDir folder_;
};

/// Made once, at the first call: it takes seconds.
const SnapshotTiers& Tiers() {
  static const SnapshotTiers tiers;
  return tiers;
}

std::unique_ptr<Engine> OpenedEngine() {
  auto engine = Engine::Open(Tiers().options());
  KVS_ASSERT(engine.has_value());
  KVS_ASSERT((*engine)->GetStats().index_chunks == ChunkCount());
  return std::move(*engine);
}

void CloseEngine(Engine& engine) {
  const auto unreleased = engine.Close(std::chrono::steady_clock::now() + std::chrono::minutes(1));
  KVS_ASSERT(unreleased.empty());
}

/// From the call to the return of Engine::Open, when every chunk can be looked up and read.
void OpenFromSnapshots(benchmark::State& state) {
  Tiers();
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    const auto engine = OpenedEngine();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    state.SetIterationTime(seconds.count());
    CloseEngine(*engine);
  }
  state.counters["chunks"] = static_cast<double>(ChunkCount());
}
BENCHMARK(OpenFromSnapshots)->UseManualTime()->Iterations(3)->Unit(benchmark::kMillisecond);

/// The same lookups through the public call, its mutex included.
void LookUpInEngine(benchmark::State& state) {
  const auto engine = OpenedEngine();
  const auto ns = engine->OpenNamespace(BenchIdentity());
  KVS_ASSERT(ns.has_value());
  LookUpAll(state, [&](std::span<const ChunkKey> keys, std::span<LookupResult> results) {
    engine->Lookup(*ns, keys, results);
  });
  CloseEngine(*engine);
}
BENCHMARK(LookUpInEngine);

}  // namespace
}  // namespace kvstream

BENCHMARK_MAIN();
