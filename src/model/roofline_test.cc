#include "model/roofline.h"

#include <gtest/gtest.h>

namespace kvstream::model {
namespace {

constexpr Efficiency kHalf{.compute = 0.5, .memory = 0.8, .step_overhead_s = 0};

Roofline FourH100(const char* model, const Efficiency& efficiency = kHalf) {
  return Roofline(*FindModel(model), *FindGpu("H100-80GB"), 4, efficiency);
}

TEST(RooflineTest, APrefillIsMemoryThenComputeBound) {
  const Roofline roofline = FourH100("32B");
  const ForwardWork one[] = {{1, 0}};
  // 2 · 32.8e9 / (4 · 3.35e12 · 0.8).
  EXPECT_NEAR(roofline.PrefillSeconds(one), 6.119e-3, 1e-6);
  const ForwardWork many[] = {{8192, 0}};
  // (2 · 32.8e9 · 8192 + 4 · 64 · 5120 · 8192² / 2) / (4 · 989e12 · 0.5).
  EXPECT_NEAR(roofline.PrefillSeconds(many), 293.9e-3, 1e-4);
}

TEST(RooflineTest, ContextCostsAttention) {
  const Roofline roofline = FourH100("32B");
  const ForwardWork fresh[] = {{8192, 0}};
  const ForwardWork after[] = {{8192, 100000}};
  // 4 · 64 · 5120 · 8192 · 100000 more operations.
  const double more_s = 4.0 * 64 * 5120 * 8192 * 100000 / (4 * 989e12 * 0.5);
  EXPECT_NEAR(roofline.PrefillSeconds(after), roofline.PrefillSeconds(fresh) + more_s, 1e-9);
}

TEST(RooflineTest, DecodeReadsWeightsAndContexts) {
  const Roofline roofline = FourH100("70B");
  // (2 · 70.6e9 + 320 Ki · 400,000) / (4 · 3.35e12 · 0.8).
  EXPECT_NEAR(roofline.DecodeSeconds({.requests = 20, .context_tokens = 400000, .steps = 1}),
              25.398e-3, 1e-6);
}

TEST(RooflineTest, StepsInARowTakeAsLongAsOneByOne) {
  const Roofline roofline =
      FourH100("14B", {.compute = 0.5, .memory = 0.8, .step_overhead_s = 1e-3});
  double one_by_one_s = 0;
  for (uint32_t step = 0; step < 50; ++step) {
    one_by_one_s +=
        roofline.DecodeSeconds({.requests = 7, .context_tokens = 9000 + 7 * step, .steps = 1});
  }
  EXPECT_NEAR(roofline.DecodeSeconds({.requests = 7, .context_tokens = 9000, .steps = 50}),
              one_by_one_s, 1e-9);
}

TEST(RooflineTest, OverheadIsAddedToEachStep) {
  const Roofline with = FourH100("14B", {.compute = 0.5, .memory = 0.8, .step_overhead_s = 2e-3});
  const Roofline without = FourH100("14B");
  const Roofline::Decode decode{.requests = 1, .context_tokens = 10, .steps = 5};
  EXPECT_NEAR(with.DecodeSeconds(decode), without.DecodeSeconds(decode) + 10e-3, 1e-12);
}

}  // namespace
}  // namespace kvstream::model
