#pragma once

#include <deque>
#include <mutex>
#include <optional>

#include "kvstream/engine.h"

#include "chunk/fingerprint.h"

namespace kvstream::engine {

/// Namespace ids of this engine and the fingerprints they stand for. Ids are dense and never
/// reused. Any thread.
class NamespaceTable {
 public:
  /// The id of the fingerprint, a new one the first time; empty when all 65,536 are taken.
  std::optional<NamespaceId> IdOf(const chunk::Fingerprint& fingerprint);
  /// Requires an id that IdOf returned.
  chunk::Fingerprint FingerprintOf(NamespaceId id) const;
  bool Contains(NamespaceId id) const;
  std::vector<chunk::Fingerprint> All() const;

 private:
  mutable std::mutex mutex_;
  std::deque<chunk::Fingerprint> fingerprints_;
};

}  // namespace kvstream::engine
