#include "trace/prefix_tree.h"

namespace kvstream::trace {

size_t PrefixTree::EdgeHash::operator()(const Edge& edge) const {
  uint64_t hash = edge.id * 0x9e3779b97f4a7c15u ^ edge.parent;
  hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93u;
  return static_cast<size_t>(hash ^ (hash >> 32));
}

PrefixTree::Match PrefixTree::Find(std::span<const uint64_t> ids) {
  Match match;
  matched_node_ = kRoot;
  while (match.blocks < ids.size()) {
    const auto child = children_.find({matched_node_, ids[match.blocks]});
    if (child == children_.end()) break;
    const uint32_t ender = nodes_[matched_node_].ender;
    if (matched_node_ != kRoot && ender != SourceRow::kNoParent) match.continued = ender;
    matched_node_ = child->second;
    match.request = nodes_[matched_node_].bringer;
    ++match.blocks;
  }
  const uint32_t ender = nodes_[matched_node_].ender;
  if (matched_node_ != kRoot && match.blocks < ids.size() && ender != SourceRow::kNoParent) {
    match.continued = ender;
  }
  unmatched_.assign(ids.begin() + static_cast<ptrdiff_t>(match.blocks), ids.end());
  return match;
}

void PrefixTree::Add(uint32_t request) {
  uint32_t node = matched_node_;
  for (const uint64_t id : unmatched_) {
    const auto child = static_cast<uint32_t>(nodes_.size());
    children_.emplace(Edge{node, id}, child);
    nodes_.push_back({.bringer = request});
    node = child;
  }
  nodes_[node].ender = request;
}

void PrefixTree::Clear() {
  children_.clear();
  nodes_.clear();
  nodes_.emplace_back();
  matched_node_ = kRoot;
  unmatched_.clear();
}

}  // namespace kvstream::trace
