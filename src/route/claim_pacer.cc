#include "route/claim_pacer.h"

#include <algorithm>
#include <limits>

#include "base/assert.h"

namespace kvstream::route {
namespace {

/// A larger window must deliver this much more to be kept: below that it only adds latency.
constexpr double kLargerGain = 1.08;
/// A smaller window is kept if it delivers at least this share.
constexpr double kSmallerKeeps = 0.97;
/// Rounds at a held window before a larger one is tried again.
constexpr uint32_t kLargerInterval = 32;
/// The same for a smaller one, which costs bandwidth when it is too small: the interval doubles
/// with each failure, so that the trials cost next to nothing where the window fits.
constexpr uint32_t kSmallerIntervalMin = 48;
constexpr uint32_t kSmallerIntervalMax = 384;
/// Weight of the newest round in the rates.
constexpr double kRateWeight = 0.3;
/// Pieces in a window: enough that a tier refills it smoothly.
constexpr uint64_t kPiecesInWindow = 8;

double Blend(double old_rate, double rate) {
  return old_rate == 0 ? rate : (1 - kRateWeight) * old_rate + kRateWeight * rate;
}

}  // namespace

ClaimPacer::ClaimPacer(const Options& options) : options_(options) {
  KVS_ASSERT(options.piece_bytes_min > 0 && options.piece_bytes_min <= options.piece_bytes_max);
  options_.window_bytes_max = std::max(options_.window_bytes_max, options_.piece_bytes_min);
  options_.window_bytes_min = std::min(options_.window_bytes_min, options_.window_bytes_max);
  batch_left_ = options_.chunks;
  Restart();
}

uint64_t ClaimPacer::Allowance(uint64_t claimable_bytes, uint32_t tier_count) const {
  if (options_.chunks > 0) {
    return batch_left_ > 0 ? std::numeric_limits<uint64_t>::max() : 0;
  }
  const uint64_t share = claimable_bytes / (uint64_t{tier_count} * 4);
  const uint64_t piece = std::clamp(std::min(window_bytes_ / kPiecesInWindow, share),
                                    options_.piece_bytes_min, options_.piece_bytes_max);
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
  bytes_per_second_ = Blend(bytes_per_second_, rate);
  if (round_full_) Judge(rate);
  round_start_ = now;
  round_bytes_ = 0;
  round_full_ = false;
}

void ClaimPacer::Judge(double rate) {
  if (phase_ == Phase::kTryLarger) {
    if (rate < held_rate_ * kLargerGain) return Hold(held_bytes_);
    held_bytes_ = window_bytes_;
    held_rate_ = rate;
    return Try(Phase::kTryLarger);
  }
  if (phase_ == Phase::kTrySmaller) {
    const bool enough = rate >= held_rate_ * kSmallerKeeps;
    smaller_interval_ =
        enough ? kSmallerIntervalMin : std::min(2 * smaller_interval_, kSmallerIntervalMax);
    return Hold(enough ? window_bytes_ : held_bytes_);
  }
  held_rate_ = Blend(held_rate_, rate);
  ++rounds_since_larger_;
  ++rounds_since_smaller_;
  if (rounds_since_smaller_ >= smaller_interval_) return Try(Phase::kTrySmaller);
  if (rounds_since_larger_ >= kLargerInterval) return Try(Phase::kTryLarger);
}

void ClaimPacer::Hold(uint64_t window_bytes) {
  phase_ = Phase::kHold;
  window_bytes_ = window_bytes;
  held_bytes_ = window_bytes;
}

void ClaimPacer::Try(Phase phase) {
  (phase == Phase::kTryLarger ? rounds_since_larger_ : rounds_since_smaller_) = 0;
  const uint64_t tried = phase == Phase::kTryLarger ? window_bytes_ * 2 : window_bytes_ / 2;
  if (tried > options_.window_bytes_max || tried < options_.window_bytes_min)
    return Hold(window_bytes_);
  phase_ = phase;
  window_bytes_ = tried;
}

void ClaimPacer::SetClaimChunks(uint32_t chunks) {
  options_.chunks = chunks;
  batch_left_ = chunks;
}

void ClaimPacer::Restart() {
  window_bytes_ = options_.window_bytes_min;
  held_bytes_ = window_bytes_;
  held_rate_ = 0;
  bytes_per_second_ = 0;
  phase_ = Phase::kTryLarger;
  rounds_since_larger_ = 0;
  rounds_since_smaller_ = 0;
  smaller_interval_ = kSmallerIntervalMin;
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
