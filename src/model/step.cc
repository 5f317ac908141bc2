#include "model/step.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/assert.h"
#include "model/bound.h"

namespace kvstream::model {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool IsTime(double seconds) { return seconds >= 0; }
bool IsShare(double share) { return share >= 0 && share <= 1; }

}  // namespace

double StepTime(const StepTerms& terms) {
  KVS_ASSERT(IsTime(terms.retrieval_s) && IsTime(terms.forward_s) && IsTime(terms.write_s));
  return terms.retrieval_s + terms.forward_s + terms.write_s;
}

double RetrievalShare(const StepTerms& terms) {
  const double time = StepTime(terms);
  KVS_ASSERT(std::isfinite(time));
  return time > 0 ? terms.retrieval_s / time : 0;
}

double WriteLoad(uint64_t new_bytes, std::span<const double> write_bandwidths, double forward_s) {
  KVS_ASSERT(!write_bandwidths.empty() && IsTime(forward_s));
  const double slowest = *std::min_element(write_bandwidths.begin(), write_bandwidths.end());
  KVS_ASSERT(std::isfinite(slowest) && slowest >= 0);
  if (new_bytes == 0) return 0;
  if (slowest == 0 || forward_s == 0) return kInfinity;
  return static_cast<double>(new_bytes) / slowest / forward_s;
}

double RetrievalSaving(std::span<const double> bandwidths, size_t only_tier,
                       double link_bandwidth) {
  KVS_ASSERT(link_bandwidth > 0);
  const double share = Phi(bandwidths, only_tier);
  const double sum = std::accumulate(bandwidths.begin(), bandwidths.end(), 0.0);
  const double alone = std::min(share * sum, link_bandwidth);
  return sum <= link_bandwidth ? 1 - share : 1 - alone / link_bandwidth;
}

double StepSaving(double retrieval_share, double retrieval_saving) {
  KVS_ASSERT(IsShare(retrieval_share) && IsShare(retrieval_saving));
  return retrieval_share * retrieval_saving;
}

double WaitingFactor(double load) {
  KVS_ASSERT(load >= 0);
  return load < 1 ? load / (1 - load) : kInfinity;
}

}  // namespace kvstream::model
