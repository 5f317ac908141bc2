#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace kvstream::cache {

/// How often each reuse distance came up. A distance is the number of *other* distinct chunks that
/// were touched since the last touch of the chunk, so an LRU of `capacity` equal chunks hits
/// exactly the reuses with distance < capacity. In the bytes of Eq. 2 of the paper, where a reuse
/// hits when d <= M, that is d = (distance + 1) * chunk bytes.
///
/// 8 bytes for each distance up to the longest. Not thread-safe; const access from any thread.
class ReuseHistogram {
 public:
  /// One access: the distance of a reuse, or nothing for the first touch of a chunk.
  void Record(std::optional<uint64_t> distance);

  uint64_t accesses() const { return reuses_ + first_touches_; }
  uint64_t reuses() const { return reuses_; }
  uint64_t first_touches() const { return first_touches_; }
  /// Element k: how many reuses had distance k.
  std::span<const uint64_t> counts() const { return counts_; }

  /// Hits of an LRU of so many chunks. O(longest distance), as DistanceOfRank.
  uint64_t ReusesCloserThan(uint64_t capacity) const;
  /// The distance of that rank, from 0, among all reuses in ascending order; rank < reuses().
  uint64_t DistanceOfRank(uint64_t rank) const;

 private:
  std::vector<uint64_t> counts_;
  uint64_t reuses_ = 0;
  uint64_t first_touches_ = 0;
};

/// Exact reuse distances of a stream of accesses, in O(log n) an access for n distinct chunks: the
/// times of the last touches are kept as a set of bits, and a Fenwick tree counts them by words.
/// Times are renumbered when they run out, so memory does not grow with the stream: less than 5
/// bytes a slot, twice that while vectors grow. Slots are small dense numbers, as for LruIndex.
/// Not thread-safe.
class StackDistances {
 public:
  /// Touches a chunk. Returns the distance of the reuse; nothing if this is the first touch.
  std::optional<uint64_t> Touch(uint32_t slot);

  uint64_t distinct() const { return distinct_; }

 private:
  static constexpr uint32_t kNever = UINT32_MAX;
  static constexpr uint32_t kWordBits = 64;

  void Renumber();
  uint32_t TouchesUpTo(uint32_t time) const;
  void Add(uint32_t time, uint32_t amount);

  std::vector<uint32_t> last_touch_;  // of each slot: a time, or kNever
  std::vector<uint64_t> touched_;     // bit t: time t is the last touch of some chunk
  std::vector<uint32_t> tree_;        // Fenwick tree over the words of touched_, from index 1
  uint32_t now_ = 0;
  uint32_t distinct_ = 0;
};

/// Reuse distances of a random sample of the chunks, for streams too long or too wide for the exact
/// ones: spatial sampling at a fixed rate (SHARDS; Waldspurger et al., FAST 2015). A chunk is in
/// the sample for its hash, so all of its accesses are; distances among sampled chunks are divided
/// by the rate. Time and memory shrink by about the rate, but for one hash an access.
///
/// The miss ratio is misses in the sample / (accesses * rate), which is unbiased in which chunks
/// are sampled even where a few chunks take most accesses (SHARDS-adj). Distances are blurred by
/// about 1 / sqrt(capacity * rate), so capacities of less than some hundred sampled chunks mean
/// little. Not thread-safe.
class SampledStackDistances {
 public:
  /// 0 < rate <= 1. The seed chooses the sample.
  SampledStackDistances(double rate, uint64_t seed);

  /// `chunk` is any identity, not necessarily dense.
  void Touch(uint64_t chunk);

  uint64_t accesses() const { return accesses_; }
  uint64_t sampled_accesses() const;
  uint64_t sampled_chunks() const { return slots_.size(); }
  /// Estimate of the number of distinct chunks.
  double distinct() const { return static_cast<double>(slots_.size()) / rate_; }

  struct Estimate {
    double miss_ratio = 0;      ///< Of all accesses, first touches included; 0 without accesses.
    double standard_error = 0;  ///< From the scatter between parts of the sample.
  };
  /// What an LRU of so many chunks would miss.
  Estimate MissRatio(uint64_t capacity) const;

 private:
  // The sample falls into so many parts by hash; their scatter gives the standard error.
  static constexpr size_t kParts = 16;

  double rate_;
  uint64_t salt_;
  uint64_t hash_limit_;
  uint64_t accesses_ = 0;
  std::unordered_map<uint64_t, uint32_t> slots_;
  StackDistances distances_;
  std::vector<ReuseHistogram> parts_;
};

}  // namespace kvstream::cache
