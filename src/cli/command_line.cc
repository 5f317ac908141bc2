#include "cli/command_line.h"

#include "cli/exit_code.h"

namespace kvstream::cli {

std::optional<int> ParseCommandLine(CLI::App* app, int argc, const char* const* argv) {
  try {
    app->parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    // exit() prints help on stdout and mistakes on stderr; its own codes are not ours.
    return app->exit(error) == 0 ? kExitOk : kExitBadInput;
  }
}

}  // namespace kvstream::cli
