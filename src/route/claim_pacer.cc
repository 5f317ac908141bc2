#include "route/claim_pacer.h"

#include <algorithm>
#include <limits>

#include "base/assert.h"

namespace kvstream::route {
namespace {

/// A larger window must deliver this much more to be kept; below that it only adds latency.
constexpr double kGrowthGain = 1.08;
/// Rounds to wait after a larger window did not pay.
constexpr uint32_t kRoundsBetweenTries = 64;
/// Weight of the newest round in the rate.
constexpr double kRateWeight = 0.3;

}  // namespace

ClaimPacer::ClaimPacer(const Options& options)
    : options_(options), window_bytes_(std::min(options.window_bytes_min, options.window_bytes_max)) {
  KVS_ASSERT(options.piece_bytes_min > 0 && options.piece_bytes_min <= options.piece_bytes_max);
  options_.window_bytes_max = std::max(options_.window_bytes_max, options_.piece_bytes_min);
  batch_left_ = options_.chunks;
}

uint64_t ClaimPacer::Allowance(uint64_t claimable_bytes, uint32_t tier_count) const {
  if (options_.chunks > 0) {
    return batch_left_ > 0 ? std::numeric_limits<uint64_t>::max() : 0;
  }
  const uint64_t share = claimable_bytes / (uint64_t{tier_count} * 4);
  const uint64_t piece = std::clamp(std::min(window_bytes_ / 4, share), options_.piece_bytes_min,
                                    options_.piece_bytes_max);
  const bool idle = in_flight_claims_ == 0;
  return idle || in_flight_bytes_ + piece <= window_bytes_ ? piece : 0;
}

void ClaimPacer::OnClaim(uint64_t bytes, TimePoint now) {
  if (in_flight_claims_ == 0) {
    round_start_ = now;
    round_bytes_ = 0;
    round_full_ = false;
  }
  ++in_flight_claims_;
  in_flight_bytes_ += bytes;
  if (in_flight_bytes_ + options_.piece_bytes_min > window_bytes_) round_full_ = true;
  if (batch_left_ > 0) --batch_left_;
}

void ClaimPacer::OnDone(uint64_t bytes, bool delivered, TimePoint now) {
  KVS_ASSERT(in_flight_claims_ > 0 && in_flight_bytes_ >= bytes);
  --in_flight_claims_;
  in_flight_bytes_ -= bytes;
  if (in_flight_claims_ == 0) batch_left_ = options_.chunks;
  if (delivered) round_bytes_ += bytes;
  if (round_bytes_ >= 2 * window_bytes_) EndRound(now);
}

void ClaimPacer::EndRound(TimePoint now) {
  const double seconds = std::chrono::duration<double>(now - round_start_).count();
  if (seconds <= 0) return;
  const double rate = static_cast<double>(round_bytes_) / seconds;
  bytes_per_second_ =
      bytes_per_second_ == 0 ? rate : (1 - kRateWeight) * bytes_per_second_ + kRateWeight * rate;
  if (round_full_) {
    if (trying_larger_ && rate < best_rate_ * kGrowthGain) {
      window_bytes_ = std::max(options_.piece_bytes_min, window_bytes_ / 2);
      trying_larger_ = false;
      rounds_until_try_ = kRoundsBetweenTries;
    } else if (rounds_until_try_ > 0) {
      --rounds_until_try_;
    } else {
      best_rate_ = rate;
      trying_larger_ = window_bytes_ * 2 <= options_.window_bytes_max;
      if (trying_larger_) window_bytes_ *= 2;
    }
  }
  round_start_ = now;
  round_bytes_ = 0;
  round_full_ = false;
}

void ClaimPacer::SetClaimChunks(uint32_t chunks) {
  options_.chunks = chunks;
  batch_left_ = chunks;
}

void ClaimPacer::Restart() {
  window_bytes_ = std::min(options_.window_bytes_min, options_.window_bytes_max);
  trying_larger_ = false;
  rounds_until_try_ = 0;
  best_rate_ = 0;
  bytes_per_second_ = 0;
}

double ClaimPacer::SecondsFor(uint64_t more_bytes) const {
  if (bytes_per_second_ <= 0) return 0;
  return static_cast<double>(in_flight_bytes_ + more_bytes) / bytes_per_second_;
}

bool Declines(const ClaimPacer& self, uint64_t piece_bytes, const ClaimPacer& other,
              uint64_t left_bytes) {
  if (self.bytes_per_second() <= 0 || other.bytes_per_second() <= 0) return false;
  return self.SecondsFor(piece_bytes) > other.SecondsFor(left_bytes);
}

}  // namespace kvstream::route
