// The LRU index and the readers against counts that were made with other programs.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <openssl/sha.h>

#include "cache/lru_index.h"
#include "trace/arrivals.h"
#include "trace/request_trace.h"

namespace kvstream::trace {
namespace {

using nlohmann::json;
using Accesses = std::vector<std::vector<uint32_t>>;  // blocks of each request, in prefix order

std::optional<std::filesystem::path> TracesFolder() {
  const char* const named = std::getenv("KVSTREAM_TRACES");
  const std::filesystem::path folder =
      named != nullptr ? named : KVS_SOURCE_DIR "/../shared/traces";
  if (!std::filesystem::exists(folder / "expected.json")) return std::nullopt;
  std::cout << "reads " << folder << "\n";
  return folder;
}

/// Prints which file a test read, so that its counts can be made again.
void PrintSha256(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream contents;
  contents << file.rdbuf();
  const std::string bytes = contents.str();
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  std::cout << "sha256 ";
  for (const unsigned char byte : digest) std::cout << fmt::format("{:02x}", byte);
  std::cout << " " << path.filename().string() << "\n";
}

constexpr char kNoTraces[] =
    "no recorded traces: set KVSTREAM_TRACES to their folder. GeneratedTracesTest checks the same "
    "rules on generated ones";

/// How many *other* blocks were touched since the last touch of each block that came again: a
/// Fenwick tree over access times holds a one at the last touch of every block.
std::vector<uint32_t> SortedStackDistances(const Accesses& accesses) {
  size_t total = 0;
  for (const auto& blocks : accesses) total += blocks.size();
  std::vector<uint32_t> tree(total + 1, 0);
  const auto add = [&](size_t at, uint32_t amount) {
    for (size_t i = at + 1; i <= total; i += i & (~i + 1)) tree[i] += amount;
  };
  const auto sum_below = [&](size_t at) {
    uint32_t sum = 0;
    for (size_t i = at; i > 0; i -= i & (~i + 1)) sum += tree[i];
    return sum;
  };
  std::unordered_map<uint32_t, size_t> last;
  std::vector<uint32_t> count_by_distance(total + 1, 0);
  size_t now = 0;
  for (const auto& blocks : accesses) {
    for (const uint32_t block : blocks) {
      const auto [entry, is_new] = last.try_emplace(block, now);
      if (!is_new) {
        ++count_by_distance[sum_below(now) - sum_below(entry->second + 1)];
        add(entry->second, UINT32_MAX);  // -1
        entry->second = now;
      }
      add(now++, 1);
    }
  }
  std::vector<uint32_t> distances;
  for (uint32_t distance = 0; distance <= total; ++distance) {
    distances.insert(distances.end(), count_by_distance[distance], distance);
  }
  return distances;
}

void Use(cache::LruIndex& index, uint32_t block) {
  if (index.Touch(block)) return;
  while (!index.Insert(block, 1)) index.Erase(*index.Victim());
}

uint64_t BlockHitsFrontToBack(const Accesses& accesses, uint64_t capacity_blocks) {
  cache::LruIndex index(capacity_blocks);
  uint64_t hits = 0;
  for (const auto& blocks : accesses) {
    for (const uint32_t block : blocks) {
      hits += index.Contains(block) ? 1 : 0;
      Use(index, block);
    }
  }
  return hits;
}

uint64_t PrefixHitsTailToHead(const Accesses& accesses, uint64_t capacity_blocks) {
  cache::LruIndex index(capacity_blocks);
  uint64_t hits = 0;
  for (const auto& blocks : accesses) {
    for (size_t i = 0; i < blocks.size() && index.Contains(blocks[i]); ++i) ++hits;
    for (size_t i = blocks.size(); i-- > 0;) Use(index, blocks[i]);
  }
  return hits;
}

uint64_t ReusesCloserThan(const std::vector<uint32_t>& sorted_distances, uint64_t capacity_blocks) {
  return static_cast<uint64_t>(
      std::lower_bound(sorted_distances.begin(), sorted_distances.end(), capacity_blocks) -
      sorted_distances.begin());
}

Accesses ToAccesses(const RequestTrace& trace) {
  Accesses accesses;
  std::vector<uint64_t> ids;
  for (const Request& request : trace.requests) {
    trace.ChunkIds(request, ids);
    accesses.emplace_back(ids.begin(), ids.end());
  }
  return accesses;
}

/// The ids of a Mooncake file as they are, partial blocks included, which no reader keeps.
std::vector<json> MooncakeRows(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<json> rows;
  for (std::string line; std::getline(file, line);) rows.push_back(json::parse(line));
  return rows;
}

Accesses RawMooncakeAccesses(const std::filesystem::path& path) {
  Accesses accesses;
  for (const json& row : MooncakeRows(path)) {
    accesses.push_back(row.at("hash_ids").get<std::vector<uint32_t>>());
  }
  return accesses;
}

RequestTrace Load(const std::string& source, const TraceOptions& options) {
  Result<RequestTrace> trace = LoadTrace(source, options);
  EXPECT_TRUE(trace.has_value()) << trace.error().ToString();
  return trace ? *std::move(trace) : RequestTrace();
}

Accesses WekaSubsetA(const std::filesystem::path& path, Order order) {
  return ToAccesses(Load(path, {.chunk_tokens = 256,
                                .context_tokens_max = 128'000,
                                .session_turns_min = 5,
                                .sessions_max = 130,
                                .order = order}));
}

void ExpectKnownAnswers(const json& expected, const Accesses& accesses) {
  EXPECT_EQ(accesses.size(), expected.at("requests").get<size_t>());
  uint64_t total = 0;
  for (const auto& blocks : accesses) total += blocks.size();
  EXPECT_EQ(total, expected.at("block_accesses").get<uint64_t>());
  const std::vector<uint32_t> distances = SortedStackDistances(accesses);
  const json& known = expected.at("stack_distance");
  ASSERT_EQ(distances.size(), known.at("reuses").get<size_t>());
  EXPECT_EQ(total - distances.size(), expected.at("unique_blocks").get<uint64_t>());
  for (const size_t percent : {10u, 25u, 50u, 75u, 90u, 99u}) {
    EXPECT_EQ(distances[percent * distances.size() / 100],
              known.at("p" + std::to_string(percent)).get<uint32_t>());
  }
  for (const json& lru : expected.at("lru")) {
    const auto capacity = lru.at("capacity_blocks").get<uint64_t>();
    SCOPED_TRACE(testing::Message() << capacity << " blocks");
    const auto hits = lru.at("block_hits_front_to_back").get<uint64_t>();
    EXPECT_EQ(BlockHitsFrontToBack(accesses, capacity), hits);
    EXPECT_EQ(ReusesCloserThan(distances, capacity), hits);
    EXPECT_EQ(PrefixHitsTailToHead(accesses, capacity),
              lru.at("prefix_hits_tail_to_head").get<uint64_t>());
  }
}

class KnownAnswersTest : public testing::TestWithParam<const char*> {};

TEST_P(KnownAnswersTest, LruHitsEqualTheExpectedCountsExactly) {
  const auto folder = TracesFolder();
  if (!folder) GTEST_SKIP() << kNoTraces;
  std::ifstream file(*folder / "expected.json");
  const std::string name = GetParam();
  const json document = json::parse(file);
  for (const json& expected : document.at("cases")) {
    if (expected.at("name") != name) continue;
    const auto path = *folder / expected.at("file").get<std::string>();
    PrintSha256(path);
    if (name.starts_with("mooncake")) {
      ExpectKnownAnswers(expected, RawMooncakeAccesses(path));
    } else {
      const bool sequential = name.ends_with("sequential");
      ExpectKnownAnswers(expected,
                         WekaSubsetA(path, sequential ? Order::kSequential : Order::kRoundRobin));
    }
    return;
  }
  FAIL() << "no case " << name;
}

constexpr std::array<const char*, 4> kCases{"mooncake.conversation", "mooncake.synthetic",
                                            "weka.A.sequential", "weka.A.round_robin"};

INSTANTIATE_TEST_SUITE_P(Cases, KnownAnswersTest, testing::ValuesIn(kCases));

TEST(RecordedTracesTest, EveryKnownAnswerIsTested) {
  const auto folder = TracesFolder();
  if (!folder) GTEST_SKIP() << kNoTraces;
  std::ifstream file(*folder / "expected.json");
  const json document = json::parse(file);
  ASSERT_EQ(document.at("cases").size(), kCases.size());
  for (const json& expected : document.at("cases")) {
    EXPECT_NE(std::find(kCases.begin(), kCases.end(), expected.at("name").get<std::string>()),
              kCases.end())
        << expected.at("name");
  }
}

TEST(GeneratedTracesTest, LruHitsEqualTheReusesCloserThanTheCapacity) {
  for (const char* const source : {"builtin:chat,seed=3", "builtin:agent,seed=4,sessions=20"}) {
    std::cout << "generates " << source << "\n";
    const Accesses accesses = ToAccesses(Load(source, {.chunk_tokens = 64}));
    const std::vector<uint32_t> distances = SortedStackDistances(accesses);
    uint64_t last_hits = 0;
    for (uint64_t capacity = 1; capacity <= 16'384; capacity *= 4) {
      const uint64_t hits = BlockHitsFrontToBack(accesses, capacity);
      EXPECT_EQ(hits, ReusesCloserThan(distances, capacity)) << capacity;
      EXPECT_GE(hits, last_hits) << "more room, fewer hits at " << capacity;
      last_hits = hits;
    }
    EXPECT_GT(last_hits, 0u);
  }
}

struct FileCounts {
  const char* file;
  uint32_t chunk_tokens;
  uint64_t requests;
  uint64_t sessions;
  uint64_t input_tokens_mean;
  uint64_t output_tokens_mean;
  uint64_t accesses;
  uint64_t unique;
};

// traces/README.md, section 4.1. Mooncake's counts there include partial blocks; see the next test.
TEST(RecordedTracesTest, CountsAreThoseOfTheReadme) {
  const auto folder = TracesFolder();
  if (!folder) GTEST_SKIP() << kNoTraces;
  const FileCounts files[] = {
      {"weka-kv-cache-tester/weka_sessions_compact.jsonl.gz", 64, 49'334, 710, 122'379, 440,
       94'310'647, 3'450'959},
      {"lmcache-agent-trace/miniswe_sessions_compact.jsonl", 64, 402, 20, 6'016, 113, 37'580,
       2'400},
  };
  for (const FileCounts& file : files) {
    SCOPED_TRACE(file.file);
    PrintSha256(*folder / file.file);
    const RequestTrace trace = Load(*folder / file.file, {.chunk_tokens = file.chunk_tokens});
    const TraceSummary summary = Summarize(trace);
    EXPECT_EQ(summary.requests, file.requests);
    EXPECT_EQ(summary.sessions, file.sessions);
    const double requests = static_cast<double>(file.requests);
    EXPECT_NEAR(static_cast<double>(summary.input_tokens) / requests,
                static_cast<double>(file.input_tokens_mean), 0.5);
    EXPECT_NEAR(static_cast<double>(summary.output_tokens) / requests,
                static_cast<double>(file.output_tokens_mean), 0.5);
    EXPECT_EQ(summary.chunk_accesses, file.accesses);
    EXPECT_EQ(summary.unique_chunks, file.unique);
  }
}

// A chunk of 256 tokens is half a block: known by the id of its block and which half it is.
TEST(RecordedTracesTest, MooncakeChunksAreHalvesOfItsBlocks) {
  const auto folder = TracesFolder();
  if (!folder) GTEST_SKIP() << kNoTraces;
  for (const char* const name : {"conversation_trace.jsonl", "synthetic_trace.jsonl"}) {
    SCOPED_TRACE(name);
    const auto path = *folder / "mooncake" / name;
    PrintSha256(path);
    const std::vector<json> rows = MooncakeRows(path);
    const RequestTrace trace = Load(path, {.chunk_tokens = 256});
    ASSERT_EQ(trace.requests.size(), rows.size());
    std::unordered_map<uint64_t, uint64_t> id_of_half;
    std::vector<uint64_t> ids;
    for (size_t i = 0; i < rows.size(); ++i) {
      const Request& request = trace.requests[i];
      ASSERT_EQ(request.input_tokens, rows[i].at("input_length").get<uint32_t>());
      ASSERT_EQ(request.output_tokens, rows[i].at("output_length").get<uint32_t>());
      ASSERT_DOUBLE_EQ(request.arrival_s, rows[i].at("timestamp").get<double>() / 1000);
      trace.ChunkIds(request, ids);
      ASSERT_EQ(ids.size(), request.input_tokens / 256);
      for (size_t chunk = 0; chunk < ids.size(); ++chunk) {
        const auto block = rows[i].at("hash_ids").at(chunk / 2).get<uint64_t>();
        const auto half = id_of_half.try_emplace(2 * block + chunk % 2, ids[chunk]).first;
        ASSERT_EQ(half->second, ids[chunk]) << "request " << i << " chunk " << chunk;
      }
    }
    EXPECT_EQ(id_of_half.size(), trace.chunk_count) << "no two halves have one id";
  }
}

// Traps 2, 3 and 7 of the traces' README.
TEST(RecordedTracesTest, TrapsAreReported) {
  const auto folder = TracesFolder();
  if (!folder) GTEST_SKIP() << kNoTraces;
  const RequestTrace chat = Load(*folder / "mooncake/conversation_trace.jsonl", {});
  EXPECT_GT(Summarize(chat).lost_tokens, 0u);
  EXPECT_NEAR(ArrivalQuantum(chat), 3, 0.01);
  EXPECT_NEAR(ArrivalVariation(chat), 3.03, 0.01);
  RequestTrace spread = chat;
  ASSERT_TRUE(ApplyArrivals(spread, {.spread_quantum_s = 3}).has_value());
  EXPECT_NEAR(ArrivalVariation(spread), 1, 0.1);
  const RequestTrace agents =
      Load(*folder / "weka-kv-cache-tester/weka_sessions_compact.jsonl.gz", {});
  size_t steps_back = 0;
  for (size_t i = 1; i < agents.requests.size(); ++i) {
    const Request& request = agents.requests[i];
    if (request.turn > 0 && request.arrival_s < agents.requests[i - 1].arrival_s) ++steps_back;
  }
  EXPECT_EQ(steps_back, 58u) << "subagents, in row order";
}

TEST(RecordedTracesTest, SharedHeadsAddReuse) {
  const auto folder = TracesFolder();
  if (!folder) GTEST_SKIP() << kNoTraces;
  const std::string path = *folder / "weka-kv-cache-tester/weka_sessions_compact.jsonl.gz";
  const TraceSummary apart = Summarize(Load(path, {}));
  const TraceSummary shared = Summarize(Load(path, {.shared_heads = true}));
  EXPECT_EQ(shared.chunk_accesses, apart.chunk_accesses);
  // 710 heads with medians of 12.3K and 2.8K tokens: about 59 chunks each.
  const double saved = static_cast<double>(apart.unique_chunks - shared.unique_chunks);
  EXPECT_NEAR(saved / 709, 59, 15);
}

}  // namespace
}  // namespace kvstream::trace
