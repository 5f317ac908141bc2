#include <cstdio>
#include <exception>
#include <string_view>

#include <fmt/core.h>

#include "kvstream/version.h"

#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "kvsim/devices_command.h"
#include "kvsim/export_command.h"
#include "kvsim/model_command.h"
#include "kvsim/mrc_command.h"
#include "kvsim/replay_log_command.h"
#include "kvsim/run_command.h"
#include "kvsim/sweep_command.h"

namespace kvstream::kvsim {
namespace {

struct Command {
  std::string_view name;
  std::string_view help;
  int (*run)(int argc, const char* const* argv);
};

constexpr Command kCommands[] = {
    {"run", "serve a trace under several policies; does a further tier pay?", RunCommand},
    {"sweep", "run for every host memory size and rate of a grid", SweepCommand},
    {"replay-log", "replay the step log of an engine or a run under other policies",
     ReplayLogCommand},
    {"mrc", "miss-ratio curve: what memory of each size leaves to storage", MrcCommand},
    {"model", "bound, static split and write condition in closed form", ModelCommand},
    {"export", "write a trace's accesses as libCacheSim's oracleGeneral", ExportCommand},
    {"devices", "list or print the device files that come with kvsim", DevicesCommand},
};

void PrintUsage(std::FILE* out) {
  fmt::print(out,
             "kvsim {}: predicts how long LLM serving waits for KV storage\n\n"
             "usage: kvsim COMMAND [OPTIONS]    kvsim COMMAND --help\n\n",
             KVSTREAM_VERSION);
  for (const Command& command : kCommands)
    fmt::print(out, "  {:<10}  {}\n", command.name, command.help);
  fmt::print(out, "\nexit: 0 ok, 1 a failure, 2 bad input, 130 interrupted\n");
}

int Main(int argc, const char* const* argv) {
  const std::string_view name = argc > 1 ? argv[1] : "";
  if (name == "--help" || name == "-h" || name == "help") {
    PrintUsage(stdout);
    return cli::kExitOk;
  }
  if (name == "--version") {
    fmt::print("kvsim {}\n", KVSTREAM_VERSION);
    return cli::kExitOk;
  }
  for (const Command& command : kCommands) {
    if (command.name != name) continue;
    if (auto caught = cli::CatchInterrupt(); !caught) {
      fmt::print(stderr, "kvsim: {}\n", caught.error().message());
      return cli::kExitFailed;
    }
    return command.run(argc - 1, argv + 1);
  }
  if (!name.empty()) fmt::print(stderr, "kvsim: unknown command \"{}\"\n\n", name);
  PrintUsage(stderr);
  return cli::kExitBadInput;
}

}  // namespace
}  // namespace kvstream::kvsim

int main(int argc, char** argv) {
  try {
    return kvstream::kvsim::Main(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "kvsim: {}\n", error.what());
    return kvstream::cli::kExitFailed;
  }
}
