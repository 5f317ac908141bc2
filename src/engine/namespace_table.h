#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <optional>

#include "kvstream/engine.h"

#include "chunk/fingerprint.h"

namespace kvstream::engine {

/// Namespace ids of this engine, the fingerprints they stand for, and the identities as far as the
/// host has named them: a scan meets namespaces that only others have opened. Ids are dense and
/// never reused. Any thread.
class NamespaceTable {
 public:
  /// The id of the fingerprint, a new one the first time; empty when all 65,536 are taken.
  std::optional<NamespaceId> IdOf(const chunk::Fingerprint& fingerprint);
  /// As above, for a namespace that the host opens.
  std::optional<NamespaceId> Open(const Identity& identity);
  /// Empty for a namespace that the host has not opened.
  std::optional<Identity> IdentityOf(NamespaceId id) const;
  /// Requires an id that IdOf returned.
  chunk::Fingerprint FingerprintOf(NamespaceId id) const;
  bool Contains(NamespaceId id) const;
  std::vector<chunk::Fingerprint> All() const;

 private:
  mutable std::mutex mutex_;
  std::deque<chunk::Fingerprint> fingerprints_;
  std::map<NamespaceId, Identity> identities_;
};

}  // namespace kvstream::engine
