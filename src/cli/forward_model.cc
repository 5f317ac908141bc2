#include "cli/forward_model.h"

#include <fmt/core.h>

#include "base/units.h"

namespace kvstream::cli {
namespace {

constexpr uint32_t kRanks = 4;
constexpr std::string_view kGpu = "H100-80GB";
constexpr std::string_view kConstantPrefix = "constant=";

}  // namespace

Result<ForwardModel> ForwardModel::Parse(std::string_view text, const model::ModelPreset* model) {
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
  KVS_TRY_ASSIGN(const model::GpuPreset gpu, model::FindGpu(kGpu));
  forward.roofline_.emplace(*model, gpu, kRanks, model::Efficiency{});
  return forward;
}

std::chrono::nanoseconds ForwardModel::StepTime(std::span<const model::ForwardWork> batch) const {
  if (!roofline_) return constant_;
  return std::chrono::nanoseconds(static_cast<int64_t>(roofline_->PrefillSeconds(batch) * 1e9));
}

}  // namespace kvstream::cli
