#include <cstdio>
#include <exception>
#include <span>
#include <string_view>

#include <fmt/core.h>

#include "kvstream/version.h"

#include "cli/bench_command.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/replay_command.h"

namespace kvstream::cli {
namespace {

struct Command {
  std::string_view name;
  std::string_view help;
  int (*run)(int argc, const char* const* argv);
};

constexpr Command kCommands[] = {
    {"replay", "replay a trace of LLM requests against real tiers", ReplayCommand},
    {"bench", "read one step of chunks again and again; ceilings, put latency, CPU", BenchCommand},
};

void PrintUsage(std::FILE* out) {
  fmt::print(out,
             "kvstream {}: multi-tier storage for the KV cache of LLM serving\n\n"
             "usage: kvstream COMMAND [OPTIONS]    kvstream COMMAND --help\n\n",
             KVSTREAM_VERSION);
  for (const Command& command : kCommands)
    fmt::print(out, "  {:<8}  {}\n", command.name, command.help);
  fmt::print(out, "\nexit: 0 ok, 1 a wrong byte or a failure, 2 bad input, 130 interrupted\n");
}

int Main(int argc, const char* const* argv) {
  const std::string_view name = argc > 1 ? argv[1] : "";
  if (name == "--help" || name == "-h" || name == "help") {
    PrintUsage(stdout);
    return kExitOk;
  }
  if (name == "--version") {
    fmt::print("kvstream {}\n", KVSTREAM_VERSION);
    return kExitOk;
  }
  for (const Command& command : kCommands) {
    if (command.name != name) continue;
    if (auto caught = CatchInterrupt(); !caught) {
      fmt::print(stderr, "kvstream: {}\n", caught.error().message());
      return kExitFailed;
    }
    return command.run(argc - 1, argv + 1);
  }
  if (!name.empty()) fmt::print(stderr, "kvstream: unknown command \"{}\"\n\n", name);
  PrintUsage(stderr);
  return kExitBadInput;
}

}  // namespace
}  // namespace kvstream::cli

int main(int argc, char** argv) {
  try {
    return kvstream::cli::Main(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "kvstream: {}\n", error.what());
    return kvstream::cli::kExitFailed;
  }
}
