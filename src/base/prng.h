#pragma once

#include <cstdint>

namespace kvstream::base {

/// SplitMix64 (Steele, Lea, Flood 2014): one 64-bit state, any seed. Not for secrets.
class Prng {
 public:
  explicit Prng(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  /// Uniform in [0, limit); limit > 0. The bias of at most limit / 2^64 is accepted.
  uint64_t Below(uint64_t limit) {
    return static_cast<uint64_t>((static_cast<Wide>(Next()) * limit) >> 64);
  }

  /// Uniform in [0, 1).
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

  bool Chance(double probability) { return Uniform() < probability; }

 private:
  __extension__ using Wide = unsigned __int128;  // not ISO C++; both compilers have it

  uint64_t state_;
};

}  // namespace kvstream::base
