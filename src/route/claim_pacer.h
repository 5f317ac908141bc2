#pragma once

#include <chrono>
#include <cstdint>

#include "kvstream/engine.h"

namespace kvstream::route {

/// How many bytes one tier may have in flight, without tuning (design: "Window without tuning").
///
/// Piece claiming: the window is held for some rounds to learn what it delivers per second, then a
/// round is tried at twice the size, or at half. A larger window stays if it delivers clearly more,
/// a smaller one if it delivers as much. So the window settles near bandwidth times latency,
/// whatever these are, and follows when they change. A round is the time in which the tier, kept
/// full, delivers two windows; at first each one doubles the window for as long as that pays.
///
/// Whole-chunk claiming (`chunks` > 0, the paper's): that many chunks, the next when all have
/// arrived.
///
/// Pure; the engine and the simulator share it.
class ClaimPacer {
 public:
  struct Options {
    uint32_t chunks = 0;
    uint64_t window_bytes_min = 8 * kMiB;
    uint64_t window_bytes_max = 64 * kMiB;
    uint64_t piece_bytes_min = 1 * kMiB;  ///< One block.
    uint64_t piece_bytes_max = 4 * kMiB;
  };

  explicit ClaimPacer(const Options& options);

  /// Largest piece the tier may claim now, 0 to wait. `claimable_bytes`: unread bytes it could
  /// claim, `tier_count`: tiers that share them. Near the end of the pool pieces shrink to one
  /// block.
  uint64_t Allowance(uint64_t claimable_bytes, uint32_t tier_count) const;

  void OnClaim(uint64_t bytes, TimePoint now);
  /// A claim ended; `delivered` false if it failed, so that it does not count as bandwidth.
  void OnDone(uint64_t bytes, bool delivered, TimePoint now);
  /// Switches between piece claiming (0) and whole-chunk claiming.
  void SetClaimChunks(uint32_t chunks);
  /// Back to the smallest window, after the tier was set aside.
  void Restart();

  uint64_t in_flight_bytes() const { return in_flight_bytes_; }
  uint64_t window_bytes() const { return window_bytes_; }
  /// Recent delivered rate while busy; 0 until known. Only the endgame uses it.
  double bytes_per_second() const { return bytes_per_second_; }

  /// Expected time until the tier has delivered what it has in flight and `more_bytes`; 0 if its
  /// rate is not known yet.
  double SecondsFor(uint64_t more_bytes) const;

 private:
  enum class Phase : uint8_t { kHold, kTryLarger, kTrySmaller };

  void EndRound(TimePoint now);
  void Judge(double rate);
  void Hold(uint64_t window_bytes);
  void Try(Phase phase);

  Options options_;
  uint64_t window_bytes_;
  uint64_t in_flight_bytes_ = 0;
  uint32_t in_flight_claims_ = 0;
  uint32_t batch_left_ = 0;

  TimePoint round_start_{};
  uint64_t round_bytes_ = 0;
  bool round_full_ = false;  // the window, not the pool, limited this round
  double bytes_per_second_ = 0;

  Phase phase_ = Phase::kTryLarger;
  uint64_t held_bytes_;   // the window to fall back to
  double held_rate_ = 0;  // what it delivers
  uint32_t rounds_since_larger_ = 0;
  uint32_t rounds_since_smaller_ = 0;
  uint32_t smaller_interval_ = 0;
};

/// True if the tier should leave its next piece to `other`: `other` alone would finish everything
/// that is left sooner than `self` would finish one piece (earliest completion first). Of tiers
/// that may claim the same pieces at least one never declines, so the pool always drains.
bool Declines(const ClaimPacer& self, uint64_t piece_bytes, const ClaimPacer& other,
              uint64_t left_bytes);

}  // namespace kvstream::route
