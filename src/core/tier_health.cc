#include "core/tier_health.h"

#include <algorithm>

#include "base/assert.h"

namespace kvstream::core {

bool TierHealth::OnError(TimePoint now) {
  ++errors_in_a_row_;
  return up_ && errors_in_a_row_ >= options_.errors_max && Open(now);
}

bool TierHealth::OnHang(TimePoint now) { return up_ && Open(now); }

bool TierHealth::Open(TimePoint now) {
  up_ = false;
  ++times_opened_;
  probe_interval_ = options_.probe_interval_min;
  probe_at_ = now + probe_interval_;
  return true;
}

bool TierHealth::OnProbeDone(bool answered, TimePoint now) {
  KVS_ASSERT(probing_ && !up_);
  probing_ = false;
  if (!answered) {
    probe_interval_ = std::min(probe_interval_ * 2, options_.probe_interval_max);
    probe_at_ = now + probe_interval_;
    return false;
  }
  up_ = true;
  errors_in_a_row_ = 0;
  return true;
}

}  // namespace kvstream::core
