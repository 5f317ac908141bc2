#include "cli/forward_model.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "kvstream/options.h"

#include "base/units.h"

namespace kvstream::cli {
namespace {

constexpr std::array<ModelPreset, 4> kModels = {{
    {"14B", 40 * kKiB, 14.8e9, 40, 5120},
    {"32B", 64 * kKiB, 32.8e9, 64, 5120},
    {"70B", 80 * kKiB, 70.6e9, 80, 8192},
    {"110B", 80 * kKiB, 111e9, 80, 8192},
}};

constexpr double kRanks = 4;
constexpr double kFlopsPerSecond = kRanks * 989e12 * 0.5;
constexpr double kMemoryBytesPerSecond = kRanks * 3.35e12 * 0.8;
constexpr double kWeightBytes = 2;  // bfloat16
constexpr std::string_view kConstantPrefix = "constant=";

}  // namespace

Result<ModelPreset> FindModel(std::string_view name) {
  for (const ModelPreset& model : kModels) {
    if (model.name == name) return model;
  }
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("--model {}: unknown; known: 14B, 32B, 70B, 110B", name));
}

Result<ForwardModel> ForwardModel::Parse(std::string_view text, const ModelPreset* model) {
  ForwardModel forward;
  if (text.starts_with(kConstantPrefix)) {
    auto constant = base::ParseDuration(text.substr(kConstantPrefix.size()));
    if (!constant) return std::move(constant).error().WithContext("--forward");
    forward.constant_ = *constant;
    return forward;
  }
  if (text != "roofline") {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("--forward {}: accepted are constant=TIME and roofline", text));
  }
  if (model == nullptr) {
    return Error(ErrorCode::kInvalidArgument, "--forward roofline: needs --model");
  }
  forward.roofline_ = true;
  forward.model_ = *model;
  return forward;
}

std::chrono::nanoseconds ForwardModel::StepTime(std::span<const ForwardWork> batch) const {
  if (!roofline_) return constant_;
  double flops = 0;
  for (const ForwardWork& request : batch) {
    const double tokens = request.new_tokens;
    const double attended = tokens * (request.context_tokens + tokens / 2);
    flops += 2 * model_.parameters * tokens + 4 * model_.layers * model_.hidden * attended;
  }
  const double compute_s = flops / kFlopsPerSecond;
  const double memory_s = kWeightBytes * model_.parameters / kMemoryBytesPerSecond;
  return std::chrono::nanoseconds(static_cast<int64_t>(std::max(compute_s, memory_s) * 1e9));
}

}  // namespace kvstream::cli
