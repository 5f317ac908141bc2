#include "base/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/assert.h"

namespace kvstream::base {

Histogram::Histogram() : counts_(std::make_unique<uint64_t[]>(kBucketCount)) {}

Histogram::Histogram(const Histogram& other) : Histogram() { Merge(other); }

Histogram& Histogram::operator=(const Histogram& other) {
  if (this != &other) *this = Histogram(other);
  return *this;
}

size_t Histogram::BucketOf(uint64_t value) {
  if (value < kBucketsPerOctave) return static_cast<size_t>(value);
  const auto shift = static_cast<unsigned>(std::bit_width(value)) - kBucketBits - 1;
  return kBucketsPerOctave * shift + static_cast<size_t>(value >> shift);
}

uint64_t Histogram::BucketEnd(size_t bucket) {
  if (bucket < 2 * kBucketsPerOctave) return bucket;
  const size_t shift = bucket / kBucketsPerOctave - 1;
  const uint64_t first = uint64_t{bucket % kBucketsPerOctave + kBucketsPerOctave} << shift;
  return first + ((uint64_t{1} << shift) - 1);
}

void Histogram::Add(uint64_t value, uint64_t count) {
  if (count == 0) return;
  counts_[BucketOf(value)] += count;
  count_ += count;
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
  sum_ += static_cast<double>(value) * static_cast<double>(count);
}

void Histogram::Merge(const Histogram& other) {
  for (size_t bucket = 0; bucket < kBucketCount; ++bucket) counts_[bucket] += other.counts_[bucket];
  count_ += other.count_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
}

uint64_t Histogram::Percentile(double percent) const {
  KVS_ASSERT(percent >= 0 && percent <= 100);
  if (count_ == 0) return 0;
  const double exact_rank = std::ceil(percent / 100 * static_cast<double>(count_));
  const uint64_t rank = std::clamp(static_cast<uint64_t>(exact_rank), uint64_t{1}, count_);
  uint64_t seen = 0;
  for (size_t bucket = 0; bucket < kBucketCount; ++bucket) {
    seen += counts_[bucket];
    if (seen >= rank) return std::min(BucketEnd(bucket), max_);
  }
  return max_;
}

}  // namespace kvstream::base
