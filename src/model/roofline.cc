#include "model/roofline.h"

#include <algorithm>

#include "base/assert.h"

namespace kvstream::model {
namespace {

constexpr double kWeightBytes = 2;

}  // namespace

Roofline::Roofline(const ModelPreset& model, const GpuPreset& gpu, uint32_t ranks,
                   const Efficiency& efficiency)
    : model_(model),
      flops_per_second_(ranks * gpu.flops_per_second * efficiency.compute),
      memory_bytes_per_second_(ranks * gpu.memory_bytes_per_second * efficiency.memory),
      step_overhead_s_(efficiency.step_overhead_s) {
  KVS_ASSERT(flops_per_second_ > 0 && memory_bytes_per_second_ > 0 && step_overhead_s_ >= 0);
}

double Roofline::Seconds(double flops, double bytes) const {
  return std::max(flops / flops_per_second_, bytes / memory_bytes_per_second_);
}

double Roofline::PrefillSeconds(std::span<const ForwardWork> batch) const {
  double tokens = 0;
  double attended = 0;
  double context = 0;
  for (const ForwardWork& request : batch) {
    const double added = request.new_tokens;
    tokens += added;
    attended += added * (request.context_tokens + added / 2);
    context += request.context_tokens;
  }
  const double flops =
      2 * model_.parameters * tokens + 4.0 * model_.layers * model_.attention_width * attended;
  const double bytes =
      kWeightBytes * model_.parameters + static_cast<double>(model_.kv_bytes_per_token) * context;
  return Seconds(flops, bytes) + step_overhead_s_;
}

double Roofline::DecodeSeconds(const Decode& decode) const {
  const double steps = decode.steps;
  const double requests = decode.requests;
  // The j-th step attends to context + j · requests tokens.
  const double attended =
      steps * static_cast<double>(decode.context_tokens) + requests * steps * (steps - 1) / 2;
  const double flops = 2 * model_.parameters * requests * steps +
                       4.0 * model_.layers * model_.attention_width * attended;
  const double bytes = kWeightBytes * model_.parameters * steps +
                       static_cast<double>(model_.kv_bytes_per_token) * attended;
  return Seconds(flops, bytes) + steps * step_overhead_s_;
}

}  // namespace kvstream::model
