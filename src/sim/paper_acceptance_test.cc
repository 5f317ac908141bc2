// Acceptance tests A1, A2, A3 and A7 of the paper's model (docs/model.md): storage of one rank
// whose bandwidths vary from step to step. The spread of phi is the only constant that was fitted.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/distributions.h"
#include "base/prng.h"
#include "cache/lru_index.h"
#include "sim/step_log_run.h"

namespace kvstream::sim {
namespace {

/// Standard deviation of phi from step to step. Fitted once, on one value: Fig 21's smallest static
/// gap of 8 % (at g = 0.55).
constexpr double kPhiSpread = 0.045;
/// Fig 22, quiet file system, and with a steady load on it.
constexpr double kPhiQuiet = 0.55;
constexpr double kPhiLoaded = 0.62;

constexpr uint64_t kChunk = 16 * kMiB;   // 32B, one of four ranks
constexpr double kSumBandwidth = 3.8e9;  // both NVMe and Lustre of Testbed-2, one rank
constexpr uint32_t kRequestChunks = 86;  // 22.2K tokens, LooGLE's mean
constexpr uint64_t kSeed = 20261031;

/// What the log of a run shows of one step.
LoggedStep MakeStep(uint64_t number, double phi, double sum = kSumBandwidth) {
  LoggedStep step;
  step.step = number;
  step.forward_s = 1;
  for (const double share : {phi, 1 - phi}) {
    LoggedTier tier;
    tier.read_busy_s = 1;
    tier.read_bytes = static_cast<uint64_t>(share * sum);
    tier.write_busy_s = 1;
    tier.written_bytes = tier.read_bytes;
    step.tiers.push_back(tier);
  }
  return step;
}

struct PhiModel {
  double mean = kPhiQuiet;
  double spread = 0;
};

/// `steps` steps that each read four requests' chunks, all of them on both tiers.
StepLog UniformLog(uint32_t steps, const PhiModel& phi, double sum = kSumBandwidth) {
  base::Prng prng(kSeed);
  StepLog log;
  log.tier_names = {"nvme", "pfs"};
  log.policies = {"recorded"};
  constexpr uint32_t kChunks = 4 * kRequestChunks;
  log.chunk_count = kChunks;
  for (uint32_t i = 1; i <= steps; ++i) {
    LoggedStep step = MakeStep(i, phi.mean + phi.spread * base::Normal(prng), sum);
    for (uint32_t id = 0; id < kChunks; ++id) {
      step.chunks.push_back({.id = id,
                             .position = id % kRequestChunks,
                             .bytes = kChunk,
                             .holders = 0b11,
                             .staged = false});
    }
    step.demand_bytes = kChunks * kChunk;
    log.steps.push_back(std::move(step));
  }
  return log;
}

StepLogResults Replay(const StepLog& log, const StepLogOptions& options) {
  Result<StepLogResults> results = RunStepLog(log, options);
  EXPECT_TRUE(results) << results.error().ToString();
  return results ? std::move(*results) : StepLogResults();
}

/// Gap to the bound of a static split that reads `g` of each step from tier 0.
double StaticGap(const StepLog& log, double g) {
  StepLogOptions options;
  options.storage.routing.policy = Policy::kStaticPosition;
  options.storage.routing.shares = {g, 1 - g};
  return Replay(log, options).gap();
}

double DrivenGap(const StepLog& log, uint32_t claim_chunks) {
  StepLogOptions options;
  options.storage.routing.claim_chunks = claim_chunks;
  return Replay(log, options).gap();
}

/// Chunks come whole, so g is met to within half a chunk of a step: below 0.4 % of its time.
constexpr double kWholeChunks = 0.006;

TEST(PaperAcceptanceTest, A1StaticSplitsTakeWhatEq6Says) {
  const double nvme[] = {3, 2, 3};
  const double pfs[] = {1, 1, 0.5};
  const double expected[] = {1.000, 1.125, 1.75};
  for (int i = 0; i < 3; ++i) {
    const double sum = nvme[i] + pfs[i];
    const StepLog log = UniformLog(1, {.mean = nvme[i] / sum}, sum * 1e9);
    EXPECT_NEAR(1 + StaticGap(log, 0.75), expected[i], kWholeChunks) << "case " << i;
  }
}

TEST(PaperAcceptanceTest, A2ConstantBandwidthsGiveAVWithItsFootAtPhi) {
  const StepLog log = UniformLog(3, {});
  double last = 1e9;
  for (double g = 0.2; g < 0.805; g += 0.05) {
    const double eq6 = std::max(g / kPhiQuiet, (1 - g) / (1 - kPhiQuiet)) - 1;
    const double gap = StaticGap(log, g);
    EXPECT_NEAR(gap, eq6, kWholeChunks) << "g " << g;
    EXPECT_EQ(gap < last, g < kPhiQuiet + 0.01) << "g " << g;
    last = gap;
  }
  EXPECT_NEAR(StaticGap(log, 0.27), 0.62, 0.01);
  EXPECT_NEAR(StaticGap(log, 0.74), 0.35, 0.01);
}

TEST(PaperAcceptanceTest, A2VaryingPhiGivesTheGapsOfFig21) {
  const StepLog log = UniformLog(150, {.mean = kPhiQuiet, .spread = kPhiSpread});
  const double foot = StaticGap(log, 0.55);
  EXPECT_NEAR(foot, 0.08, 0.01) << "the value that the spread was fitted on";
  const double worst = StaticGap(log, 0.27);
  EXPECT_GE(worst, 0.60);
  EXPECT_LE(worst, 0.70);
  for (const uint32_t m : {1u, 4u}) {
    const double driven = DrivenGap(log, m);
    EXPECT_GE(driven, -1e-9);
    EXPECT_LE(driven, 0.043) << m << " chunks at a time";
  }
  EXPECT_LE(DrivenGap(log, 0), 0.02) << "pieces";
  fmt::print("A2: static 0.55 {:.3f}, static 0.27 {:.3f}, chunks:4 {:.4f}, pieces {:.4f}\n", foot,
             worst, DrivenGap(log, 4), DrivenGap(log, 0));
}

TEST(PaperAcceptanceTest, A2ASteadyLoadThatMovesPhiCostsAStaticSplit12To24Percent) {
  const double pfs = (1 - kPhiLoaded) / kPhiLoaded * kPhiQuiet * kSumBandwidth;
  const StepLog log =
      UniformLog(150, {.mean = kPhiLoaded, .spread = kPhiSpread}, kPhiQuiet * kSumBandwidth + pfs);
  const double gap = StaticGap(log, 0.55);
  EXPECT_GE(gap, 0.12);
  EXPECT_LE(gap, 0.24);
  EXPECT_LE(DrivenGap(log, 4), 0.043);
  fmt::print("A2: static 0.55 under load {:.3f}, chunks:4 {:.4f}\n", gap, DrivenGap(log, 4));
}

TEST(PaperAcceptanceTest, A3APfsThatServesHalfWithASeventhOfTheBandwidthTakesThreeTimes) {
  const StepLog log = UniformLog(40, {.mean = 0.85, .spread = 0});
  const double ratio = 1 + StaticGap(log, 0.53);
  EXPECT_NEAR(ratio, 0.47 / 0.15, 0.05);
  EXPECT_LE(1 + DrivenGap(log, 4), 1.05);
  EXPECT_LE(1 + DrivenGap(log, 0), 1.05);
  fmt::print("A3: static {:.3f}, chunks:4 {:.4f}, pieces {:.4f}\n", ratio, 1 + DrivenGap(log, 4),
             1 + DrivenGap(log, 0));
}

/// Half of offline LooGLE as one rank's storage sees it: documents of one length, 20 questions each
/// in random order, four requests a step, memory for as large a part of the documents as 80 GB are.
StepLog LoogleLog(const PhiModel& phi) {
  constexpr uint32_t kDocuments = 75;
  constexpr uint32_t kQuestions = 20;
  constexpr uint32_t kMemoryDocuments = 29;
  base::Prng prng(kSeed);
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < kDocuments * kQuestions; ++i) order.push_back(i % kDocuments);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[prng.Below(i)]);
  StepLog log;
  log.tier_names = {"nvme", "pfs"};
  log.policies = {"recorded"};
  log.chunk_count = kDocuments * kRequestChunks;
  cache::LruIndex memory(kMemoryDocuments);
  std::vector<bool> seen(kDocuments);
  for (size_t i = 0; i < order.size(); i += 4) {
    LoggedStep step = MakeStep(i / 4 + 1, phi.mean + phi.spread * base::Normal(prng));
    std::vector<uint32_t> in_step;
    for (size_t j = i; j < i + 4; ++j) {
      const uint32_t document = order[j];
      const bool hit = memory.Touch(document);
      if (!hit && memory.free_bytes() == 0) memory.Erase(*memory.Victim());
      if (!hit) memory.Insert(document, 1);
      if (!seen[document]) step.new_bytes += kRequestChunks * kChunk;
      const bool from_storage = seen[document] && !hit;
      seen[document] = true;
      if (!from_storage || std::ranges::find(in_step, document) != in_step.end()) continue;
      in_step.push_back(document);
      for (uint32_t position = 0; position < kRequestChunks; ++position) {
        step.chunks.push_back({.id = document * kRequestChunks + position,
                               .position = position,
                               .bytes = kChunk,
                               .holders = 0b11,
                               .staged = false});
      }
    }
    step.demand_bytes = step.chunks.size() * kChunk;
    log.steps.push_back(std::move(step));
  }
  return log;
}

StepLogResults ReplayWrites(const StepLog& log, Replication replication, double g) {
  StepLogOptions options;
  options.replay_writes = true;
  options.storage.write.replication = replication;
  options.storage.write.shares = {g, 1 - g};
  return Replay(log, options);
}

TEST(PaperAcceptanceTest, A7WritePoliciesWriteAndWaitAsMuchAsThePaperSays) {
  const StepLog quiet = LoogleLog({.mean = kPhiQuiet, .spread = kPhiSpread});
  const StepLog loaded = LoogleLog({.mean = kPhiLoaded, .spread = kPhiSpread});
  const StepLogResults full = ReplayWrites(quiet, Replication::kFull, 0.55);
  EXPECT_DOUBLE_EQ(full.write_amplification, 2);
  EXPECT_LE(full.gap(), 0.02);
  const StepLogResults fraction = ReplayWrites(quiet, Replication::kFraction, 0.55);
  EXPECT_GE(fraction.write_amplification, 1.4);
  EXPECT_LE(fraction.write_amplification, 1.45);
  EXPECT_LE(fraction.gap(), 0.05);
  fmt::print("A7: full {:.3f}x {:.4f}, fraction {:.3f}x {:.4f}\n", full.write_amplification,
             full.gap(), fraction.write_amplification, fraction.gap());
  for (const StepLog* log : {&quiet, &loaded}) {
    for (const double g : {0.27, 0.74}) {
      const StepLogResults slow = ReplayWrites(*log, Replication::kWhenSlow, g);
      fmt::print("A7: when slow, g {} {:.3f}x {:.4f}\n", g, slow.write_amplification, slow.gap());
      EXPECT_NEAR(slow.write_amplification, 1.2, 0.1);
      EXPECT_GE(slow.gap(), 0.12);
      EXPECT_LE(slow.gap(), 0.74);
    }
  }
  // A placement at phi itself stays just below the paper's 12 %, still far from full replication.
  const StepLogResults best = ReplayWrites(loaded, Replication::kWhenSlow, 0.55);
  fmt::print("A7: when slow, g 0.55 {:.3f}x {:.4f}\n", best.write_amplification, best.gap());
  EXPECT_NEAR(best.write_amplification, 1.2, 0.1);
  EXPECT_GE(best.gap(), 0.08);
  const StepLogResults reuse = ReplayWrites(quiet, Replication::kOnReuse, 0.55);
  fmt::print("A7: on reuse {:.3f}x {:.4f}\n", reuse.write_amplification, reuse.gap());
  // Every document is read again, so in the end every chunk has its second copy.
  EXPECT_LE(reuse.gap(), 0.05);
  EXPECT_NEAR(reuse.write_amplification, 2, 0.01);
}

}  // namespace
}  // namespace kvstream::sim
