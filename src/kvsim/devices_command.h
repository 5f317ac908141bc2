#pragma once

namespace kvstream::kvsim {

/// `kvsim devices …`: argv[0] is the word "devices". Returns the process's exit code.
int DevicesCommand(int argc, const char* const* argv);

}  // namespace kvstream::kvsim
