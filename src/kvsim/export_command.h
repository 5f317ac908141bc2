#pragma once

namespace kvstream::kvsim {

/// `kvsim export …`: argv[0] is the word "export". Returns the process's exit code.
int ExportCommand(int argc, const char* const* argv);

}  // namespace kvstream::kvsim
