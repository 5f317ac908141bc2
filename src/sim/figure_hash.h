#pragma once

#include <bit>
#include <cstdint>

#include "base/prng.h"

namespace kvstream::sim {

/// A hash of a sequence of figures, to tell whether two runs agree. Bit-exact for doubles. Not for
/// secrets.
class FigureHash {
 public:
  void Add(uint64_t figure) { state_ = base::Prng(state_ ^ figure).Next(); }
  void Add(double figure) { Add(std::bit_cast<uint64_t>(figure)); }

  uint64_t value() const { return state_; }

 private:
  uint64_t state_ = 0;
};

}  // namespace kvstream::sim
