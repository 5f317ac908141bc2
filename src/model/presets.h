#pragma once

#include <cstdint>
#include <string_view>

#include "kvstream/status.h"

namespace kvstream::model {

/// A served model with grouped-query attention and 2-byte weights and KV.
struct ModelPreset {
  std::string_view name;
  double parameters = 0;
  uint32_t layers = 0;
  uint32_t attention_width = 0;  ///< Query heads times head size.
  uint32_t kv_heads = 0;
  uint64_t kv_bytes_per_token = 0;  ///< All ranks together.

  /// Of one of `ranks` tensor-parallel ranks. Ranks beyond kv_heads hold copies.
  uint64_t RankKvBytesPerToken(uint32_t ranks) const;
};

/// One GPU as its maker states it: dense bfloat16 arithmetic, device memory.
struct GpuPreset {
  std::string_view name;
  double flops_per_second = 0;
  double memory_bytes_per_second = 0;
  uint64_t memory_bytes = 0;
};

/// GPU memory of one rank that is left for KV: 90 % of it, as serving engines take by default, less
/// the weights. 0 if they do not fit.
uint64_t KvMemoryBytes(const GpuPreset& gpu, const ModelPreset& model, uint32_t ranks);

/// 14B, 32B, 70B, 110B: the models of the paper (arXiv:2610.31827, Table 3). kInvalidArgument names
/// them.
Result<ModelPreset> FindModel(std::string_view name);

/// H100-80GB, A100-40GB, A100-80GB, H200, B200. kInvalidArgument names them.
Result<GpuPreset> FindGpu(std::string_view name);

}  // namespace kvstream::model
