#pragma once

#include "engine/engine_state.h"

namespace kvstream::engine {

/// Engine::Write: admits, fills the stage on the caller's thread, commits.
Result<WriteTicket> StageWrites(EngineState& state, NamespaceId ns,
                                std::span<const WriteItem> items, const WriteJobOptions& options);

}  // namespace kvstream::engine
