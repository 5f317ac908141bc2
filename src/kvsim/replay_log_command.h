#pragma once

namespace kvstream::kvsim {

/// `kvsim replay-log …`: argv[0] is the word "replay-log". Returns the process's exit code.
int ReplayLogCommand(int argc, const char* const* argv);

}  // namespace kvstream::kvsim
