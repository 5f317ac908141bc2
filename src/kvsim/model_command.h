#pragma once

namespace kvstream::kvsim {

/// `kvsim model …`: argv[0] is the word "model". Returns the process's exit code.
int ModelCommand(int argc, const char* const* argv);

}  // namespace kvstream::kvsim
