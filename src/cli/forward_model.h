#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "kvstream/status.h"

#include "model/presets.h"
#include "model/roofline.h"

namespace kvstream::cli {

/// Forward time of a step: a constant, or that of model::Roofline for one prefill on four
/// H100-80GB. Pure.
class ForwardModel {
 public:
  /// "constant=TIME" or "roofline" (needs a model). kInvalidArgument names what is accepted.
  static Result<ForwardModel> Parse(std::string_view text, const model::ModelPreset* model);

  std::chrono::nanoseconds StepTime(std::span<const model::ForwardWork> batch) const;

 private:
  std::chrono::nanoseconds constant_{0};
  std::optional<model::Roofline> roofline_;
};

}  // namespace kvstream::cli
