// A5 of the acceptance tests: reuse distances, the LRU index and counts that were made with other
// programs agree on recorded traces, and the first two on generated ones.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cache/lru_index.h"
#include "cache/stack_distance.h"
#include "trace/request_trace.h"

namespace kvstream::cache {
namespace {

using nlohmann::json;
using trace::Order;
using trace::RequestTrace;

constexpr char kWekaFile[] = "weka-kv-cache-tester/weka_sessions_compact.jsonl.gz";
constexpr char kNoTraces[] =
    "no recorded traces: set KVSTREAM_TRACES to their folder. GeneratedReuseTest checks the same "
    "rules on generated ones";

std::optional<std::filesystem::path> TracesFolder() {
  const char* const named = std::getenv("KVSTREAM_TRACES");
  const std::filesystem::path folder =
      named != nullptr ? named : KVS_SOURCE_DIR "/../shared/traces";
  if (!std::filesystem::exists(folder / "expected.json")) return std::nullopt;
  std::cout << "reads " << folder << "\n";
  return folder;
}

/// Calls visit(chunk) for every access, request by request, front to back.
template <typename Visit>
void ForEachAccess(const RequestTrace& accessed, Visit visit) {
  std::vector<uint64_t> ids;
  for (const trace::Request& request : accessed.requests) {
    accessed.ChunkIds(request, ids);
    for (const uint64_t id : ids) visit(static_cast<uint32_t>(id));
  }
}

/// The ids of a Mooncake file as they are, partial blocks included, which no reader keeps.
struct MooncakeFile {
  std::filesystem::path path;
};

template <typename Visit>
void ForEachAccess(const MooncakeFile& mooncake, Visit visit) {
  std::ifstream file(mooncake.path);
  for (std::string line; std::getline(file, line);) {
    const json row = json::parse(line);
    for (const uint32_t id : row.at("hash_ids")) visit(id);
  }
}

template <typename Source>
ReuseHistogram HistogramOf(const Source& source) {
  StackDistances distances;
  ReuseHistogram histogram;
  ForEachAccess(source, [&](uint32_t chunk) { histogram.Record(distances.Touch(chunk)); });
  return histogram;
}

template <typename Source>
uint64_t LruHits(const Source& source, uint64_t capacity) {
  LruIndex index(capacity);
  uint64_t hits = 0;
  ForEachAccess(source, [&](uint32_t chunk) {
    if (index.Touch(chunk)) {
      ++hits;
      return;
    }
    while (!index.Insert(chunk, 1)) index.Erase(*index.Victim());
  });
  return hits;
}

RequestTrace Load(const std::string& source, const trace::TraceOptions& options) {
  Result<RequestTrace> loaded = trace::LoadTrace(source, options);
  EXPECT_TRUE(loaded.has_value()) << loaded.error().ToString();
  return loaded ? *std::move(loaded) : RequestTrace();
}

template <typename Source>
void ExpectKnownAnswers(const json& expected, const Source& source) {
  const ReuseHistogram histogram = HistogramOf(source);
  EXPECT_EQ(histogram.accesses(), expected.at("block_accesses").get<uint64_t>());
  EXPECT_EQ(histogram.first_touches(), expected.at("unique_blocks").get<uint64_t>());
  const json& known = expected.at("stack_distance");
  ASSERT_EQ(histogram.reuses(), known.at("reuses").get<uint64_t>());
  for (const uint64_t percent : {10u, 25u, 50u, 75u, 90u, 99u}) {
    EXPECT_EQ(histogram.DistanceOfRank(percent * histogram.reuses() / 100),
              known.at("p" + std::to_string(percent)).get<uint64_t>());
  }
  ASSERT_FALSE(expected.at("lru").empty());
  for (const json& lru : expected.at("lru")) {
    const auto capacity = lru.at("capacity_blocks").get<uint64_t>();
    SCOPED_TRACE(testing::Message() << capacity << " blocks");
    const auto hits = lru.at("block_hits_front_to_back").get<uint64_t>();
    EXPECT_EQ(histogram.ReusesCloserThan(capacity), hits);
    EXPECT_EQ(LruHits(source, capacity), hits);
  }
}

class KnownReuseTest : public testing::TestWithParam<const char*> {};

TEST_P(KnownReuseTest, DistancesAndLruHitsEqualTheExpectedCountsExactly) {
  const auto folder = TracesFolder();
  if (!folder) GTEST_SKIP() << kNoTraces;
  std::ifstream file(*folder / "expected.json");
  const std::string name = GetParam();
  const json document = json::parse(file);
  for (const json& expected : document.at("cases")) {
    if (expected.at("name") != name) continue;
    const auto path = *folder / expected.at("file").get<std::string>();
    if (name.starts_with("mooncake")) {
      ExpectKnownAnswers(expected, MooncakeFile{path});
    } else {
      ExpectKnownAnswers(expected,
                         Load(path, {.chunk_tokens = 256,
                                     .context_tokens_max = 128'000,
                                     .session_turns_min = 5,
                                     .sessions_max = 130,
                                     .order = name.ends_with("sequential") ? Order::kSequential
                                                                           : Order::kRoundRobin}));
    }
    return;
  }
  FAIL() << "no case " << name;
}

INSTANTIATE_TEST_SUITE_P(Cases, KnownReuseTest,
                         testing::Values("mooncake.conversation", "mooncake.synthetic",
                                         "weka.A.sequential", "weka.A.round_robin"));

TEST(RecordedReuseTest, LruHitsEqualTheDistancesOnAllOfWeka) {
  const auto folder = TracesFolder();
  if (!folder) GTEST_SKIP() << kNoTraces;
  const RequestTrace weka = Load(*folder / kWekaFile, {.order = Order::kInterleave, .window = 50});
  const ReuseHistogram histogram = HistogramOf(weka);
  EXPECT_GT(histogram.accesses(), 23'000'000u);
  constexpr uint64_t kCapacity = 16'384;
  const uint64_t hits = histogram.ReusesCloserThan(kCapacity);
  EXPECT_EQ(LruHits(weka, kCapacity), hits);
  EXPECT_LT(hits, histogram.reuses()) << "too large to decide anything";
}

TEST(GeneratedReuseTest, LruHitsEqualTheDistancesAtEveryCapacity) {
  for (const char* const source : {"builtin:chat,seed=3", "builtin:agent,seed=4,sessions=20"}) {
    std::cout << "generates " << source << "\n";
    const RequestTrace generated = Load(source, {.chunk_tokens = 64});
    const ReuseHistogram histogram = HistogramOf(generated);
    EXPECT_EQ(histogram.first_touches(), generated.chunk_count);
    for (uint64_t capacity = 1; capacity <= 2 * generated.chunk_count; capacity *= 2) {
      EXPECT_EQ(LruHits(generated, capacity), histogram.ReusesCloserThan(capacity)) << capacity;
    }
  }
}

}  // namespace
}  // namespace kvstream::cache
