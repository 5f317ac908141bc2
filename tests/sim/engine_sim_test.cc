#include "sim/engine_sim.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

namespace kvstream::test {
namespace {

constexpr uint64_t kSeeds = 2000;
/// A run with so many failures has told enough.
constexpr int kFailuresMax = 3;

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// The first failure among `seeds` seeds of worlds that are spoilt on purpose; empty if none fails.
std::string FirstFailure(Sabotage sabotage, uint64_t seeds) {
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    EngineSim sim(seed, sabotage);
    const std::string failure = sim.Run();
    if (!failure.empty()) return failure;
  }
  return "";
}

void ExpectNoticed(Sabotage sabotage, const std::string& what) {
  const std::string failure = FirstFailure(sabotage, 20);
  EXPECT_NE(failure.find(what), std::string::npos) << "noticed: '" << failure << "'";
}

/// So many seeds must have met everything that can happen, or they have shown little.
void ExpectAllMet(const SimCoverage& met) {
  EXPECT_GT(met.chunks_delivered, 0u);
  for (const MissReason reason : {MissReason::kUnknown, MissReason::kLength, MissReason::kLost,
                                  MissReason::kDeadline, MissReason::kCancelled}) {
    EXPECT_GT(met.misses[static_cast<size_t>(reason)], 0u) << static_cast<int>(reason);
  }
  for (size_t reason = 0; reason < kFlushReasonCount; ++reason) {
    EXPECT_GT(met.flushed_bytes[reason], 0u) << reason;
  }
  for (const DropReason reason : {DropReason::kAge, DropReason::kTierDown, DropReason::kNoSpace,
                                  DropReason::kIoError, DropReason::kReplaced}) {
    EXPECT_GT(met.dropped_copies[static_cast<size_t>(reason)], 0u) << static_cast<int>(reason);
  }
  EXPECT_GT(met.bytes_read_twice, 0u);
  EXPECT_GT(met.staged_hit_bytes, 0u);
  EXPECT_GT(met.evicted_chunks, 0u);
  EXPECT_GT(met.corrupt_blocks, 0u);
  EXPECT_GT(met.stale_copies, 0u);
  EXPECT_GT(met.breaker_opened, 0u);
  EXPECT_GT(met.crashes, 0u);
  EXPECT_GT(met.temps_left_by_crashes, 0u);
  EXPECT_GT(met.orderly_restarts, 0u);
  EXPECT_GT(met.faults, 0u);
  EXPECT_GT(met.discovered, 0u);
}

// KVS_SIM_SEEDS: how many. KVS_SIM_FIRST: from which on. KVS_SIM_SEED: only this one, with its log.
TEST(EngineSimTest, KeepsItsPromisesUnderRandomFaultsAndCrashes) {
  const bool single = std::getenv("KVS_SIM_SEED") != nullptr;
  const uint64_t first =
      single ? FromEnvironment("KVS_SIM_SEED", 0) : FromEnvironment("KVS_SIM_FIRST", 1);
  const uint64_t seeds = single ? 1 : FromEnvironment("KVS_SIM_SEEDS", kSeeds);
  SimCoverage met;
  int failures = 0;
  for (uint64_t seed = first; seed < first + seeds && failures < kFailuresMax; ++seed) {
    EngineSim sim(seed);
    const std::string failure = sim.Run();
    met.Add(sim.coverage());
    if (!failure.empty()) {
      ++failures;
      ADD_FAILURE() << sim.Log();
    } else if (single) {
      std::fputs(sim.Log().c_str(), stderr);
    }
  }
  if (seeds >= kSeeds) ExpectAllMet(met);
}

TEST(EngineSimTest, ReplaysASeedIdentically) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    EngineSim first(seed);
    EXPECT_EQ(first.Run(), "");
    EngineSim second(seed);
    EXPECT_EQ(second.Run(), "");
    EXPECT_EQ(first.trace_hash(), second.trace_hash()) << "seed " << seed;
  }
}

TEST(EngineSimTest, TellsSeedsApart) {
  EngineSim one(1);
  EngineSim two(2);
  EXPECT_EQ(one.Run(), "");
  EXPECT_EQ(two.Run(), "");
  EXPECT_NE(one.trace_hash(), two.trace_hash());
}

TEST(EngineSimTest, NoticesWrongBytes) { ExpectNoticed(Sabotage::kUnverifiedFlip, "wrong bytes"); }

TEST(EngineSimTest, NoticesMemoryThatChangesAfterItsEvent) {
  ExpectNoticed(Sabotage::kLateWrite, "memory was written after its chunk's event");
}

TEST(EngineSimTest, NoticesAByteBesideAChunksMemory) {
  ExpectNoticed(Sabotage::kGuard, "bytes beside a chunk's memory");
}

TEST(EngineSimTest, NoticesAnEventThatDoesNotCome) {
  EXPECT_NE(FirstFailure(Sabotage::kLostEvent, 20), "");
}

TEST(EngineSimTest, NoticesAnEventThatComesTwice) {
  EXPECT_NE(FirstFailure(Sabotage::kRepeatedEvent, 20), "");
}

TEST(EngineSimTest, NoticesFilesBeyondTheCapacity) {
  ExpectNoticed(Sabotage::kExtraFile, "the files exceed the capacity");
}

}  // namespace
}  // namespace kvstream::test
