#include "kvsim/command_end.h"

#include <cstdio>

#include <fmt/core.h>

#include "cli/exit_code.h"

namespace kvstream::kvsim {

int EndCommand(std::string_view name, const Status& done) {
  if (done) return cli::kExitOk;
  fmt::print(stderr, "kvsim {}: {}\n", name, done.error().message());
  if (done.error().code() == ErrorCode::kShutdown) return cli::kExitInterrupted;
  return cli::ExitCodeFor(done.error());
}

}  // namespace kvstream::kvsim
