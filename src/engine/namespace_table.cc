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

std::optional<NamespaceId> NamespaceTable::Open(const Identity& identity) {
  const auto id = IdOf(chunk::Fingerprint::Of(identity));
  if (!id) return id;
  const std::lock_guard lock(mutex_);
  identities_.emplace(*id, identity);
  return id;
}

std::optional<Identity> NamespaceTable::IdentityOf(NamespaceId id) const {
  const std::lock_guard lock(mutex_);
  const auto found = identities_.find(id);
  return found == identities_.end() ? std::nullopt : std::optional(found->second);
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
