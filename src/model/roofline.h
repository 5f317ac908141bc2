#pragma once

#include <cstdint>
#include <span>

#include "model/presets.h"

namespace kvstream::model {

/// One request of a prefill: tokens to compute, after `context_tokens` whose KV is there.
struct ForwardWork {
  uint32_t new_tokens = 0;
  uint32_t context_tokens = 0;
};

/// What of the makers' figures a serving engine gets. The only fitted constants of the serving
/// model; docs/model.md says on what and shows the residuals.
struct Efficiency {
  double compute = 0.6;
  double memory = 0.9;
  double step_overhead_s = 0;  ///< Scheduling and launching, each step.
};

/// T_fwd of Eq. 1 from a roofline: the larger of arithmetic and memory traffic. Tensor-parallel
/// ranks share both evenly. Weights and KV take 2 bytes. With P parameters, L layers, attention
/// width a, n new tokens after c of context:
///   arithmetic  2 P n + 4 L a n (c + n / 2)      traffic  2 P + KV bytes of all contexts
/// Pure; any thread.
class Roofline {
 public:
  /// `ranks` > 0.
  Roofline(const ModelPreset& model, const GpuPreset& gpu, uint32_t ranks,
           const Efficiency& efficiency);

  /// One forward pass over the new tokens of all requests.
  double PrefillSeconds(std::span<const ForwardWork> batch) const;

  /// Steps in a row that each add one token to each of a batch's requests.
  struct Decode {
    uint32_t requests = 0;
    uint64_t context_tokens = 0;  ///< Of all requests together, before the first step.
    uint32_t steps = 0;
  };
  double DecodeSeconds(const Decode& decode) const;

 private:
  double Seconds(double flops, double bytes) const;

  ModelPreset model_;
  double flops_per_second_;
  double memory_bytes_per_second_;
  double step_overhead_s_;
};

}  // namespace kvstream::model
