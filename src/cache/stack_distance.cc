#include "cache/stack_distance.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/assert.h"
#include "base/prng.h"

namespace kvstream::cache {
namespace {

constexpr size_t kWordsMin = 64;
constexpr uint32_t kRemoved = UINT32_MAX;  // -1 modulo 2^32

}  // namespace

void ReuseHistogram::Record(std::optional<uint64_t> distance) {
  if (!distance) {
    ++first_touches_;
    return;
  }
  if (*distance >= counts_.size()) counts_.resize(*distance + 1);
  ++counts_[*distance];
  ++reuses_;
}

uint64_t ReuseHistogram::ReusesCloserThan(uint64_t capacity) const {
  const size_t end = std::min<uint64_t>(capacity, counts_.size());
  uint64_t closer = 0;
  for (size_t distance = 0; distance < end; ++distance) closer += counts_[distance];
  return closer;
}

uint64_t ReuseHistogram::DistanceOfRank(uint64_t rank) const {
  KVS_ASSERT(rank < reuses_);
  uint64_t distance = 0;
  for (uint64_t seen = counts_[0]; seen <= rank; seen += counts_[distance]) ++distance;
  return distance;
}

std::optional<uint64_t> StackDistances::Touch(uint32_t slot) {
  if (slot >= last_touch_.size()) {
    KVS_ASSERT(slot != kNever);
    last_touch_.resize(size_t{slot} + 1, kNever);
  }
  if (now_ == touched_.size() * kWordBits) Renumber();
  const uint32_t last = last_touch_[slot];
  std::optional<uint64_t> distance;
  if (last == kNever) {
    ++distinct_;
  } else {
    distance = distinct_ - TouchesUpTo(last);
    touched_[last / kWordBits] &= ~(uint64_t{1} << last % kWordBits);
    Add(last, kRemoved);
  }
  touched_[now_ / kWordBits] |= uint64_t{1} << now_ % kWordBits;
  Add(now_, 1);
  last_touch_[slot] = now_++;
  return distance;
}

/// Gives the last touches the times 0, 1, …, in their order, and leaves more free times than there
/// are slots, so that renumbering is O(log n) an access.
void StackDistances::Renumber() {
  for (uint32_t& last : last_touch_) {
    if (last != kNever) last = TouchesUpTo(last) - 1;
  }
  now_ = distinct_;
  const size_t words = kWordsMin + 2 * last_touch_.size() / kWordBits;
  KVS_ASSERT(words * kWordBits < kNever);
  touched_.assign(words, 0);
  for (uint32_t time = 0; time < now_; ++time) {
    touched_[time / kWordBits] |= uint64_t{1} << time % kWordBits;
  }
  tree_.assign(words + 1, 0);
  for (size_t i = 1; i <= words; ++i) {
    tree_[i] += static_cast<uint32_t>(std::popcount(touched_[i - 1]));
    const size_t parent = i + (i & (~i + 1));
    if (parent <= words) tree_[parent] += tree_[i];
  }
}

/// Last touches at or before `time`.
uint32_t StackDistances::TouchesUpTo(uint32_t time) const {
  const size_t word = time / kWordBits;
  const uint64_t later = ~uint64_t{1} << time % kWordBits;
  auto count = static_cast<uint32_t>(std::popcount(touched_[word] & ~later));
  for (size_t i = word; i > 0; i &= i - 1) count += tree_[i];
  return count;
}

void StackDistances::Add(uint32_t time, uint32_t amount) {
  for (size_t i = time / kWordBits + 1; i < tree_.size(); i += i & (~i + 1)) tree_[i] += amount;
}

SampledStackDistances::SampledStackDistances(double rate, uint64_t seed)
    : rate_(rate), salt_(base::Prng(seed).Next()), hash_limit_(UINT64_MAX), parts_(kParts) {
  KVS_ASSERT(rate > 0 && rate <= 1);
  if (rate < 1) hash_limit_ = static_cast<uint64_t>(rate * 0x1p64);
}

void SampledStackDistances::Touch(uint64_t chunk) {
  ++accesses_;
  const uint64_t hash = base::Prng(chunk ^ salt_).Next();
  if (hash > hash_limit_) return;
  const auto slot = static_cast<uint32_t>(slots_.size());
  const uint32_t known = slots_.try_emplace(chunk, slot).first->second;
  parts_[hash % kParts].Record(distances_.Touch(known));
}

uint64_t SampledStackDistances::sampled_accesses() const {
  uint64_t sum = 0;
  for (const ReuseHistogram& part : parts_) sum += part.accesses();
  return sum;
}

SampledStackDistances::Estimate SampledStackDistances::MissRatio(uint64_t capacity) const {
  if (accesses_ == 0) return {};
  const double expected_accesses = static_cast<double>(accesses_) * rate_;
  // d / rate < capacity, for whole numbers d.
  const auto sampled_capacity =
      static_cast<uint64_t>(std::ceil(static_cast<double>(capacity) * rate_));
  double sum = 0;
  double sum_of_squares = 0;
  for (const ReuseHistogram& part : parts_) {
    const auto misses =
        static_cast<double>(part.accesses() - part.ReusesCloserThan(sampled_capacity));
    sum += misses;
    sum_of_squares += misses * misses;
  }
  constexpr double kCount = kParts;
  const double variance = std::max(0.0, sum_of_squares - sum * sum / kCount) / (kCount - 1);
  // A sample of everything has no sampling error: the finite population correction.
  const double missing_share = 1 - rate_;
  return {.miss_ratio = sum / expected_accesses,
          .standard_error = std::sqrt(kCount * variance * missing_share) / expected_accesses};
}

}  // namespace kvstream::cache
