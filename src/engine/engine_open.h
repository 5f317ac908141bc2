#pragma once

#include <memory>

#include "engine/engine_state.h"

namespace kvstream::engine {

/// Checks the options, opens every tier, loads snapshots. No thread runs yet.
Result<std::shared_ptr<EngineState>> OpenState(const EngineOptions& options);

/// Scans in the background the tiers whose snapshot was not clean; the others may be written at
/// once.
void StartScans(const std::shared_ptr<EngineState>& state);

/// The index of one tier, for its snapshot.
tier::Snapshot CollectSnapshot(const core::Core& core, const NamespaceTable& namespaces,
                               uint32_t tier);

}  // namespace kvstream::engine
