#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "kvstream/status.h"

namespace kvstream::cli {

/// What the replay must know of a served model, as the paper's section 6.1 has them, TP = 4.
struct ModelPreset {
  std::string_view name;
  uint64_t kv_bytes_per_token = 0;  ///< Per rank.
  double parameters = 0;
  double layers = 0;
  double hidden = 0;
};

/// kInvalidArgument names the presets: 14B, 32B, 70B, 110B.
Result<ModelPreset> FindModel(std::string_view name);

/// One request of a step: tokens to compute, after `context` tokens that were retrieved.
struct ForwardWork {
  uint32_t new_tokens = 0;
  uint32_t context_tokens = 0;
};

/// Forward time of a step: a constant, or a roofline of one prefill on 4 GPUs (989 TFLOP/s at 50 %,
/// 3.35 TB/s at 80 %, each rank a quarter):
///   max( (2 P n + 4 L h Σ n_r (c_r + n_r / 2)) / compute,  2 P / memory )
/// with P parameters, n new tokens in all, L layers, h hidden width. Pure.
class ForwardModel {
 public:
  /// "constant=TIME" or "roofline" (needs a model). kInvalidArgument names what is accepted.
  static Result<ForwardModel> Parse(std::string_view text, const ModelPreset* model);

  std::chrono::nanoseconds StepTime(std::span<const ForwardWork> batch) const;

 private:
  std::chrono::nanoseconds constant_{0};
  ModelPreset model_;
  bool roofline_ = false;
};

}  // namespace kvstream::cli
