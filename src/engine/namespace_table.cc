#include "engine/namespace_table.h"

#include <algorithm>
#include <limits>

#include "base/assert.h"

namespace kvstream::engine {

std::optional<NamespaceId> NamespaceTable::IdOf(const chunk::Fingerprint& fingerprint) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(fingerprints_, fingerprint);
  if (found == fingerprints_.end()) {
    if (fingerprints_.size() > std::numeric_limits<NamespaceId>::max()) return std::nullopt;
    fingerprints_.push_back(fingerprint);
    return static_cast<NamespaceId>(fingerprints_.size() - 1);
  }
  return static_cast<NamespaceId>(found - fingerprints_.begin());
}

chunk::Fingerprint NamespaceTable::FingerprintOf(NamespaceId id) const {
  const std::lock_guard lock(mutex_);
  KVS_ASSERT(id < fingerprints_.size());
  return fingerprints_[id];
}

bool NamespaceTable::Contains(NamespaceId id) const {
  const std::lock_guard lock(mutex_);
  return id < fingerprints_.size();
}

std::vector<chunk::Fingerprint> NamespaceTable::All() const {
  const std::lock_guard lock(mutex_);
  return {fingerprints_.begin(), fingerprints_.end()};
}

}  // namespace kvstream::engine
