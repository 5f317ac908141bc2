#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace kvstream::base {

/// Counts of values in log-linear buckets, in the layout of HdrHistogram: 64 buckets an octave, so
/// a percentile is at most 1/64 (1.6 %) above the true value, over the whole range of uint64_t. The
/// unit is the caller's (nanoseconds for latencies). 30 KiB; Add neither allocates nor branches on
/// the past. Not thread-safe: one a thread, then Merge.
class Histogram {
 public:
  Histogram();
  Histogram(const Histogram& other);
  Histogram& operator=(const Histogram& other);
  Histogram(Histogram&&) noexcept = default;
  Histogram& operator=(Histogram&&) noexcept = default;

  void Add(uint64_t value, uint64_t count = 1);
  /// Adds the counts of `other`, as if its values had been added here.
  void Merge(const Histogram& other);

  uint64_t count() const { return count_; }
  /// Exact; 0 without values.
  uint64_t min() const { return count_ == 0 ? 0 : min_; }
  uint64_t max() const { return max_; }
  /// Exact up to the rounding of a double; 0 without values.
  double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  /// The smallest value that at least `percent` of the values do not exceed, rounded up to the end
  /// of its bucket and never above max(). `percent` is in [0, 100]; 0 without values.
  uint64_t Percentile(double percent) const;

 private:
  static constexpr unsigned kBucketBits = 6;
  static constexpr size_t kBucketsPerOctave = size_t{1} << kBucketBits;
  // Values below 64 have their own buckets; above, 64 for each of the 58 possible highest bits.
  static constexpr size_t kBucketCount = kBucketsPerOctave * (64 - kBucketBits + 1);

  static size_t BucketOf(uint64_t value);
  static uint64_t BucketEnd(size_t bucket);

  std::unique_ptr<uint64_t[]> counts_;
  uint64_t count_ = 0;
  uint64_t min_ = UINT64_MAX;
  uint64_t max_ = 0;
  double sum_ = 0;
};

}  // namespace kvstream::base
