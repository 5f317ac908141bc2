#pragma once

namespace kvstream::kvsim {

/// `kvsim mrc …`: argv[0] is the word "mrc". Returns the process's exit code.
int MrcCommand(int argc, const char* const* argv);

}  // namespace kvstream::kvsim
