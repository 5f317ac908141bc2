#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace kvstream::model {

// A step and what it means for serving in closed form: Eq. 1, Sec 5.3 and 7 of the paper
// (arXiv:2610.31827). Times are seconds, bandwidths bytes per second, finite and not negative, one
// per tier. Arguments outside that abort. Pure; any thread.

struct StepTerms {
  double retrieval_s = 0;
  double forward_s = 0;
  double write_s = 0;  ///< What of the writes the step waits for.
};

/// Eq. 1: T_i = T_i^ret + T_i^fwd + T_i^wr.
double StepTime(const StepTerms& terms);

/// Retrieval's share of Eq. 1; 0 for a step without time.
double RetrievalShare(const StepTerms& terms);

/// Sec 5.3: the write condition W_i / min_k w_k <~ T_{i+1}^fwd as a ratio of its sides. Up to 1, a
/// copy on every tier stays hidden behind the forward pass; above, writes meet the next reads
/// (interference) and fill the stage (backpressure). Infinite where bytes meet a tier that cannot
/// write or a forward pass without time; 0 without bytes.
double WriteLoad(uint64_t new_bytes, std::span<const double> write_bandwidths, double forward_s);

/// Sec 5.3: what of the retrieval time goes away when all other tiers join `only_tier`:
/// 1 - D/(Σ b) / (D/b) = 1 - φ, less where a link (Eq. 3) is slower than Σ b. Some bandwidth must
/// be above 0, and the link.
double RetrievalSaving(std::span<const double> bandwidths, size_t only_tier,
                       double link_bandwidth = std::numeric_limits<double>::infinity());

/// Sec 5.3, after Amdahl: a step of which retrieval is `retrieval_share` becomes shorter by
/// share * saving, both fractions in [0, 1].
double StepSaving(double retrieval_share, double retrieval_saving);

/// Sec 5.3: waiting grows like ρ / (1 - ρ) with the load ρ >= 0; infinite from 1 on.
double WaitingFactor(double load);

}  // namespace kvstream::model
