#include "model/presets.h"

#include <gtest/gtest.h>

#include "kvstream/options.h"

namespace kvstream::model {
namespace {

TEST(PresetsTest, KvPerTokenIsTwoTensorsOfEveryLayerAndHead) {
  for (const char* name : {"14B", "32B", "70B", "110B"}) {
    const auto model = FindModel(name);
    ASSERT_TRUE(model.has_value()) << name;
    EXPECT_EQ(model->kv_bytes_per_token, uint64_t{2} * model->layers * model->kv_heads * 128 * 2);
  }
}

TEST(PresetsTest, RanksShareKvUpToTheNumberOfHeads) {
  const auto model = FindModel("70B");
  EXPECT_EQ(model->RankKvBytesPerToken(1), 320 * kKiB);
  EXPECT_EQ(model->RankKvBytesPerToken(4), 80 * kKiB);
  EXPECT_EQ(model->RankKvBytesPerToken(8), 40 * kKiB);
  EXPECT_EQ(model->RankKvBytesPerToken(16), 40 * kKiB);
}

TEST(PresetsTest, AnUnknownNameIsAnsweredWithTheKnownOnes) {
  const auto model = FindModel("7B");
  ASSERT_FALSE(model.has_value());
  EXPECT_EQ(model.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(model.error().message().find("14B, 32B, 70B, 110B"), std::string::npos);
  EXPECT_NE(FindGpu("H100").error().message().find("H100-80GB"), std::string::npos);
}

TEST(PresetsTest, WeightsLeaveLessMemoryForKv) {
  const auto gpu = FindGpu("A100-40GB");
  // 0.9 · 40e9 - 2 · 32.8e9 / 4.
  EXPECT_EQ(KvMemoryBytes(*gpu, *FindModel("32B"), 4), 19'600'000'000u);
  EXPECT_EQ(KvMemoryBytes(*gpu, *FindModel("110B"), 4), 0u);
}

}  // namespace
}  // namespace kvstream::model
