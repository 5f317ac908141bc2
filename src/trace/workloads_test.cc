// The generators of the paper's workloads against the figures of its setup and of its Fig 1 and 9.

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache/lru_index.h"
#include "trace/synth.h"

namespace kvstream::trace {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kSeeds = 5;

RequestTrace Generate(const std::string& source, const TraceOptions& options = {}) {
  std::cout << "generates " << source << "\n";
  Result<RequestTrace> trace = LoadTrace(source, options);
  EXPECT_TRUE(trace.has_value()) << trace.error().ToString();
  return trace ? *std::move(trace) : RequestTrace();
}

struct Figures {
  std::string source;
  double requests;
  double sessions;
  double input_tokens_mean;
  double output_tokens_mean;
  double unique_chunks;
  double reuse;
};

void ExpectWithin(double share, double value, double target, const char* what) {
  EXPECT_NEAR(value, target, share * target) << what;
}

void ExpectFigures(const Figures& figures) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const RequestTrace trace = Generate(figures.source + ",seed=" + std::to_string(seed));
    const TraceSummary summary = Summarize(trace);
    const double requests = static_cast<double>(summary.requests);
    ExpectWithin(0.02, requests, figures.requests, "requests");
    EXPECT_EQ(static_cast<double>(summary.sessions), figures.sessions);
    ExpectWithin(0.05, static_cast<double>(summary.input_tokens) / requests,
                 figures.input_tokens_mean, "mean prompt");
    ExpectWithin(0.05, static_cast<double>(summary.output_tokens) / requests,
                 figures.output_tokens_mean, "mean output");
    ExpectWithin(0.05, static_cast<double>(summary.unique_chunks), figures.unique_chunks,
                 "distinct chunks");
    EXPECT_NEAR(summary.reuse, figures.reuse, 0.01);
  }
}

/// Σ of what an LRU of `capacity_chunks` had and lost again: Eq. 2 of the paper, in chunks. Chunks
/// of a prompt are refreshed tail first.
uint64_t DemandChunks(const RequestTrace& trace, uint64_t capacity_chunks) {
  cache::LruIndex index(capacity_chunks);
  std::vector<bool> seen(trace.chunk_count, false);
  std::vector<uint64_t> ids;
  uint64_t demand = 0;
  for (const Request& request : trace.requests) {
    trace.ChunkIds(request, ids);
    for (const uint64_t id : ids) {
      if (seen[id] && !index.Contains(static_cast<uint32_t>(id))) ++demand;
    }
    for (size_t i = ids.size(); i-- > 0;) {
      const auto slot = static_cast<uint32_t>(ids[i]);
      seen[slot] = true;
      if (index.Touch(slot)) continue;
      while (!index.Insert(slot, 1)) index.Erase(*index.Victim());
    }
  }
  return demand;
}

TEST(WorkloadsTest, LoogleIsThatOfTheSetup) {
  ExpectFigures({"builtin:loogle", 3200, 156, 22'200, 175, 12'774, 0.954});
}

TEST(WorkloadsTest, NarrativeQaIsThatOfTheSetup) {
  ExpectFigures({"builtin:narrativeqa", 2520, 84, 46'000, 27.5, 15'206, 0.966});
}

TEST(WorkloadsTest, CuadIsThatOfTheSetup) {
  ExpectFigures({"builtin:cuad", 10'000, 281, 11'000, 110, 12'083, 0.972});
}

TEST(WorkloadsTest, SweBenchIsThatOfTheSetup) {
  ExpectFigures({"builtin:swebench", 4000, 130, 19'000, 95, 4.2e6 / 256, 0.945});
}

TEST(WorkloadsTest, QwenCoderIsThatOfTheSetup) {
  ExpectFigures({"builtin:qwen-coder", 6934, 716, 7100, 109, 25'856, 0.866});
}

TEST(WorkloadsTest, ChutesIsThatOfTheSetup) {
  ExpectFigures({"builtin:chutes", 530, 39, 62'000, 60, 11'955, 0.906});
}

constexpr uint64_t kChunksPerGib32B = 64;  // 16 MiB a chunk and rank

double DemandGib(const RequestTrace& trace, uint64_t host_cache_gib) {
  return static_cast<double>(DemandChunks(trace, host_cache_gib * kChunksPerGib32B)) /
         static_cast<double>(kChunksPerGib32B);
}

// Fig 9: 1,428 GB per rank are read with 40 GB of host memory and with 80 GB.
TEST(WorkloadsTest, QwenCoderReadsTheSameWhateverTheMemory) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const RequestTrace trace = Generate("builtin:qwen-coder,seed=" + std::to_string(seed));
    const double gb_per_gib = 1.073741824;
    ExpectWithin(0.1, gb_per_gib * DemandGib(trace, 40), 1428, "40 GiB");
    ExpectWithin(0.1, gb_per_gib * DemandGib(trace, 80), 1428, "80 GiB");
  }
}

TEST(WorkloadsTest, QwenCoderHasAHotHead) {
  const RequestTrace trace = Generate("builtin:qwen-coder");
  const TraceSummary summary = Summarize(trace);
  std::vector<uint64_t> uses(trace.chunk_count, 0);
  std::vector<uint64_t> ids;
  for (const Request& request : trace.requests) {
    trace.ChunkIds(request, ids);
    for (const uint64_t id : ids) ++uses[id];
  }
  uint64_t hot_uses = 0;
  for (const uint64_t count : uses) hot_uses += count == summary.requests ? count - 1 : 0;
  const double reuses = static_cast<double>(summary.chunk_accesses - summary.unique_chunks);
  EXPECT_NEAR(static_cast<double>(hot_uses) / reuses, 0.40, 0.05);
  EXPECT_EQ(hot_uses / (summary.requests - 1) * 256, 2560u) << "tokens of each prompt";
}

// Fig 9: 1,412, 380 and 20 GB per rank with 40, 60 and 80 GB of host memory.
TEST(WorkloadsTest, ChutesFitsIntoTwiceTheMemory) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const RequestTrace trace = Generate("builtin:chutes,seed=" + std::to_string(seed));
    ExpectWithin(0.1, DemandGib(trace, 40), 1412, "40 GiB");
    ExpectWithin(0.4, DemandGib(trace, 60), 380, "60 GiB");
    EXPECT_LE(DemandGib(trace, 80), 20);
  }
}

TEST(WorkloadsTest, NoChutesPromptExceedsTheContext) {
  for (const Request& request : Generate("builtin:chutes,requests=3000,sessions=40").requests) {
    EXPECT_LE(request.input_tokens, 130'000u);
  }
}

TEST(WorkloadsTest, OfflineWorkloadsAreAClosedLoop) {
  const RequestTrace trace = Generate("builtin:cuad,documents=20");
  EXPECT_EQ(trace.clock, ArrivalClock::kNone);
  uint32_t steps = 0;
  for (size_t i = 1; i < trace.requests.size(); ++i) {
    EXPECT_EQ(trace.requests[i].arrival_s, 0);
    steps += trace.requests[i].session != trace.requests[i - 1].session ? 1 : 0;
  }
  EXPECT_GT(steps, trace.requests.size() / 2) << "documents are interleaved";
}

TEST(WorkloadsTest, OnlineArrivalsHaveTheirRateAndVariation) {
  for (const double cv : {1.0, 4.0}) {
    const RequestTrace trace =
        Generate("builtin:swebench,requests=100000,rate=2.5,cv=" + std::to_string(cv));
    double squares = 0;
    for (size_t i = 1; i < trace.requests.size(); ++i) {
      const double gap = trace.requests[i].arrival_s - trace.requests[i - 1].arrival_s;
      ASSERT_GE(gap, 0);
      squares += gap * gap;
    }
    const double count = static_cast<double>(trace.requests.size() - 1);
    const double mean = trace.requests.back().arrival_s / count;
    EXPECT_NEAR(mean, 0.4, 0.4 * 0.03);
    EXPECT_NEAR(std::sqrt(squares / count - mean * mean) / mean, cv, 0.1 * cv);
  }
}

TEST(WorkloadsTest, TheStringDecidesTheTrace) {
  for (const std::string kind : {"loogle", "narrativeqa", "swebench", "qwen-coder", "chutes"}) {
    const auto lengths = [&](const std::string& seed) {
      std::vector<std::pair<uint32_t, double>> all;
      for (const Request& request : Generate("builtin:" + kind + ",seed=" + seed).requests) {
        all.emplace_back(request.input_tokens, request.arrival_s);
      }
      return all;
    };
    EXPECT_EQ(lengths("1"), lengths("1"));
    EXPECT_NE(lengths("1"), lengths("2"));
  }
}

// From datasets.md: eight draws of the real documents have mean prompts of 43.4K to 46.3K tokens
// and 14.2K to 15.2K distinct chunks.
TEST(WorkloadsTest, NarrativeQaTakesRealDocuments) {
  const char* const named = std::getenv("KVSTREAM_TRACES");
  const std::filesystem::path folder =
      named != nullptr ? named : KVS_SOURCE_DIR "/../shared/traces";
  const std::filesystem::path lengths = folder / "narrativeqa/documents.csv";
  if (!std::filesystem::exists(lengths)) {
    GTEST_SKIP() << "no " << lengths << "; NarrativeQaIsThatOfTheSetup checks generated lengths";
  }
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const TraceSummary summary = Summarize(Generate(
        "builtin:narrativeqa,lengths=" + lengths.string() + ",seed=" + std::to_string(seed)));
    EXPECT_EQ(summary.requests, 84u * 30);
    const double mean =
        static_cast<double>(summary.input_tokens) / static_cast<double>(summary.requests);
    ExpectWithin(0.08, mean, 45'000, "mean prompt");
    ExpectWithin(0.08, static_cast<double>(summary.unique_chunks), 14'800, "distinct chunks");
  }
}

TEST(WorkloadsTest, WrongParametersAreRefused) {
  const std::string csv = KVS_SOURCE_DIR "/tests/data/traces/documents_small.csv";
  const std::vector<std::pair<std::string, std::string>> refusals{
      {"builtin:loogle,documents=0", "from 1 to 1000000"},
      {"builtin:loogle,questions=x", "is not a number from 1 to 10000"},
      {"builtin:loogle,questions=nan", "is not a number from 1 to 10000"},
      {"builtin:loogle,lengths=a.csv", "unknown parameter 'lengths'; known: documents questions"},
      {"builtin:loogle,documents=1000000,questions=1000", "more than 10000000 requests"},
      {"builtin:narrativeqa,lengths=/no/such.csv", "open /no/such.csv"},
      {"builtin:narrativeqa,lengths=" + csv, "has 2 documents of up to 80000 words; 84 are needed"},
      {"builtin:qwen-coder,requests=10,sessions=11", "more sessions than requests"},
      {"builtin:chutes,rate=0", "is not a number from"},
      {"builtin:chutes,cv=1e9", "is not a number from 0.1 to 20"},
      {"builtin:chutes,live=0", "from 1 to"},
  };
  for (const auto& [source, message] : refusals) {
    const auto trace = LoadTrace(source, {});
    ASSERT_FALSE(trace.has_value()) << source;
    EXPECT_THAT(trace.error().message(), HasSubstr(message)) << source;
  }
}

}  // namespace
}  // namespace kvstream::trace
