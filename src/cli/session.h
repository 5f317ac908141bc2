#pragma once

#include <memory>
#include <vector>

#include "kvstream/engine.h"

#include "cli/tier_config.h"

namespace kvstream::cli {

/// An open engine with one namespace, for the length of a command.
class Session {
 public:
  /// Prints the engine's warnings on stderr. Blocks. Errors are Engine::Open's and OpenNamespace's.
  static Result<Session> Open(const EngineArgs& args, const Identity& identity);

  Engine& engine() { return *engine_; }
  NamespaceId ns() const { return ns_; }

  /// Waits until every staged write is settled. kTimeout.
  Status Flush();
  /// Forgets the chunks on every tier; their files are gone once Close has returned. kTimeout.
  Status Remove(std::span<const ChunkKey> keys);
  /// Closes the engine, which is gone afterwards. Idempotent. kTimeout if the kernel still holds
  /// memory of a read: then that memory must not be freed, and the process should end with
  /// std::_Exit.
  Status Close();

 private:
  std::unique_ptr<Engine> engine_;
  NamespaceId ns_ = 0;
};

/// One line per tier: how it is read and what it holds.
std::string DescribeTiers(const Stats& stats);

}  // namespace kvstream::cli
