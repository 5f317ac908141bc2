#pragma once

namespace kvstream::kvsim {

/// `kvsim run …`: argv[0] is the word "run". Returns the process's exit code.
int RunCommand(int argc, const char* const* argv);

}  // namespace kvstream::kvsim
