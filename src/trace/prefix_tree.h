#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "trace/trace_builder.h"

namespace kvstream::trace {

/// Every prefix seen so far, block by block. A prefix is known by the one a block shorter and its
/// last id, so ids may be chained hashes or plain content. Remembers which request brought a
/// prefix. Not thread-safe.
class PrefixTree {
 public:
  struct Match {
    uint32_t request = SourceRow::kNoParent;  ///< The request that brought the prefix.
    uint64_t blocks = 0;
    /// The last request whose whole prompt, at least a block and shorter than this one, is a prefix
    /// of it.
    uint32_t continued = SourceRow::kNoParent;
  };

  PrefixTree() { Clear(); }

  /// The longest known prefix of the prompt with `ids`.
  Match Find(std::span<const uint64_t> ids);
  /// Adds the prompt of the last Find as `request`.
  void Add(uint32_t request);
  void Clear();

 private:
  static constexpr uint32_t kRoot = 0;

  struct Edge {
    uint32_t parent;
    uint64_t id;
    bool operator==(const Edge&) const = default;
  };
  struct EdgeHash {
    size_t operator()(const Edge& edge) const;
  };
  struct Node {
    uint32_t bringer = SourceRow::kNoParent;
    uint32_t ender = SourceRow::kNoParent;  // the last request that ends here
  };

  std::unordered_map<Edge, uint32_t, EdgeHash> children_;
  std::vector<Node> nodes_;
  // Of the last prompt: where its known prefix ends, and the ids after it.
  uint32_t matched_node_ = kRoot;
  std::vector<uint64_t> unmatched_;
};

}  // namespace kvstream::trace
