#pragma once

namespace kvstream::kvsim {

/// `kvsim sweep …`: argv[0] is the word "sweep". Returns the process's exit code.
int SweepCommand(int argc, const char* const* argv);

}  // namespace kvstream::kvsim
