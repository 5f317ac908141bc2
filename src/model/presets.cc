#include "model/presets.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include <fmt/format.h>

#include "kvstream/options.h"

#include "base/assert.h"

namespace kvstream::model {
namespace {

// KV per token: Table 3 of the paper. The rest: config.json and model cards of Qwen/Qwen3-14B,
// deepseek-ai/DeepSeek-R1-Distill-Qwen-32B, deepseek-ai/DeepSeek-R1-Distill-Llama-70B and
// Qwen/Qwen1.5-110B. All have 8 KV heads of 128, so KV per token is 2 · layers · 8 · 128 · 2 bytes.
constexpr std::array<ModelPreset, 4> kModels = {{
    {"14B", 14.8e9, 40, 5120, 8, 160 * kKiB},
    {"32B", 32.8e9, 64, 5120, 8, 256 * kKiB},
    {"70B", 70.6e9, 80, 8192, 8, 320 * kKiB},
    {"110B", 111e9, 80, 8192, 8, 320 * kKiB},
}};

// NVIDIA's data sheets "H100 Tensor Core GPU" (SXM), "A100 Tensor Core GPU" (SXM), "H200 Tensor
// Core GPU" (SXM) and "DGX B200" (an eighth of 72 PFLOP/s FP8 halved for bfloat16 and again for
// dense, 1,440 GB and 64 TB/s). Data sheets name arithmetic with sparsity; this is half of it.
constexpr std::array<GpuPreset, 5> kGpus = {{
    {"H100-80GB", 989e12, 3.35e12, 80'000'000'000},
    {"A100-40GB", 312e12, 1.555e12, 40'000'000'000},
    {"A100-80GB", 312e12, 2.039e12, 80'000'000'000},
    {"H200", 989e12, 4.8e12, 141'000'000'000},
    {"B200", 2250e12, 8.0e12, 180'000'000'000},
}};

template <typename Preset>
Result<Preset> Find(std::span<const Preset> presets, std::string_view kind, std::string_view name) {
  std::string known;
  for (const Preset& preset : presets) {
    if (preset.name == name) return preset;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", preset.name);
  }
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("unknown {} '{}'; known: {}", kind, name, known));
}

}  // namespace

uint64_t ModelPreset::RankKvBytesPerToken(uint32_t ranks) const {
  KVS_ASSERT(ranks > 0);
  return kv_bytes_per_token / std::min(ranks, kv_heads);
}

uint64_t KvMemoryBytes(const GpuPreset& gpu, const ModelPreset& model, uint32_t ranks) {
  constexpr double kUsable = 0.9;
  constexpr double kWeightBytes = 2;
  const double weights = kWeightBytes * model.parameters / ranks;
  const double left = kUsable * static_cast<double>(gpu.memory_bytes) - weights;
  return left > 0 ? static_cast<uint64_t>(left) : 0;
}

Result<ModelPreset> FindModel(std::string_view name) {
  return Find(std::span<const ModelPreset>(kModels), "model", name);
}

Result<GpuPreset> FindGpu(std::string_view name) {
  return Find(std::span<const GpuPreset>(kGpus), "GPU", name);
}

}  // namespace kvstream::model
