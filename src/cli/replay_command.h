#pragma once

namespace kvstream::cli {

/// `kvstream replay …`: argv[0] is the word "replay". Returns the process's exit code.
int ReplayCommand(int argc, const char* const* argv);

}  // namespace kvstream::cli
