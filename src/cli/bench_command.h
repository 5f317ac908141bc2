#pragma once

namespace kvstream::cli {

/// `kvstream bench …`: argv[0] is the word "bench". Returns the process's exit code.
int BenchCommand(int argc, const char* const* argv);

}  // namespace kvstream::cli
