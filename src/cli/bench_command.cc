#include "cli/bench_command.h"

#include <cstdio>

#include <fmt/core.h>

#include "kvstream/engine.h"

#include "base/units.h"
#include "cli/bench.h"
#include "cli/engine_flags.h"
#include "cli/exit_code.h"

namespace kvstream::cli {
namespace {

constexpr const char* kDescription =
    "Reads one step of N chunks again and again, under each policy in rotating order, and compares "
    "every "
    "byte. The bound comes from the engine's own busy times and from a ceiling measured in the "
    "same "
    "minute. Other modes: one tier against fio, put latency, reads under a flood of writes.";
constexpr const char* kFooter =
    "Sizes are 4096, 16MiB, 1.5GB; bandwidths 600MiB/s; times 20ms, 2s.\n"
    "--ceiling raw runs one raw reader a tier before every step, all at once, with the same pause "
    "before;\n"
    "the bound is the time in which they deliver the step's bytes in sum (for partial copies: the "
    "largest\n"
    "over all sets of tiers).\n"
    "Exit: 0 done, 1 a wrong byte or a failure, 2 bad input (nothing written), 130 interrupted.";

struct BenchFlags {
  EngineFlags engine;
  std::string mode = "step";
  std::string ceiling = "raw";
  uint32_t chunks = 256;
  std::string chunk_bytes = "16MiB";
  uint32_t steps = 10;
  uint32_t warmup = 1;
  std::string idle = "0ms";
  std::string align = "0ms";
  std::string evict;
  std::string put_bytes = "64MiB";
  uint64_t seed = 1;
  std::string json;
  bool keep = false;
};

void Bind(CLI::App* app, BenchFlags* flags) {
  const auto add = [app](const char* name, auto& target, const char* help) {
    return app->add_option(name, target, help)->group("Bench")->capture_default_str();
  };
  add("--mode", flags->mode,
      "step; single (one tier against fio, in pairs); put (latency into a free and a full stage); "
      "flood "
      "(the step with and without writes, in pairs)");
  add("--ceiling", flags->ceiling,
      "For --mode step: raw, fio, loop (a raw reader a tier, once) or none");
  add("--chunks", flags->chunks, "Chunks of the step")->check(CLI::PositiveNumber);
  add("--chunk-bytes", flags->chunk_bytes, "Bytes of a chunk");
  add("--steps", flags->steps, "Measured steps, pairs or puts")->check(CLI::PositiveNumber);
  add("--warmup", flags->warmup, "Steps before them that do not count");
  add("--idle", flags->idle, "Pause before every timed run");
  add("--align", flags->align,
      "Starts every timed run at a multiple of this on the wall clock, in phase with a changing "
      "limit");
  add("--evict", flags->evict,
      "SHARE:TIER, for example 20%:1: takes that share of the tier's copies away");
  add("--put-bytes", flags->put_bytes, "For --mode put: bytes of a put");
  add("--seed", flags->seed, "Seed of --evict and of the intervals");
  add("--json", flags->json, "Writes the figures; - is stdout (tables go to stderr)");
  app->add_flag("--keep", flags->keep, "Leaves the chunks on the tiers")->group("Bench");
}

template <typename Choice>
struct Name {
  std::string_view text;
  Choice choice;
};

template <typename Choice, size_t kCount>
Status Choose(std::string_view flag, std::string_view text, const Name<Choice> (&names)[kCount],
              Choice* target) {
  std::string known;
  for (const auto& name : names) {
    if (name.text == text) {
      *target = name.choice;
      return {};
    }
    known += (known.empty() ? "" : ", ") + std::string(name.text);
  }
  return Error(ErrorCode::kInvalidArgument, fmt::format("{} {}: none of {}", flag, text, known));
}

Status CheckSize(std::string_view flag, uint64_t bytes) {
  if (bytes > 0 && bytes <= kChunkBytesMax) return {};
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("{} {}: must be 1 to {}", flag, bytes, kChunkBytesMax));
}

Result<BenchOptions> ReadOptions(const BenchFlags& flags) {
  static constexpr Name<BenchMode> kModes[] = {{"step", BenchMode::kStep},
                                               {"single", BenchMode::kSingle},
                                               {"put", BenchMode::kPut},
                                               {"flood", BenchMode::kFlood}};
  static constexpr Name<Ceiling> kCeilings[] = {{"raw", Ceiling::kRaw},
                                                {"fio", Ceiling::kFio},
                                                {"loop", Ceiling::kLoop},
                                                {"none", Ceiling::kNone}};
  BenchOptions options;
  KVS_TRY_ASSIGN(options.engine, flags.engine.Read());
  KVS_TRY_ASSIGN(options.policies, flags.engine.ReadPolicies(options.engine, {"kvstream"}));
  KVS_TRY(Choose("--mode", flags.mode, kModes, &options.mode));
  KVS_TRY(Choose("--ceiling", flags.ceiling, kCeilings, &options.ceiling));
  KVS_TRY(ReadFlag("--chunk-bytes", base::ParseBytes(flags.chunk_bytes), &options.chunk_bytes));
  KVS_TRY(CheckSize("--chunk-bytes", options.chunk_bytes));
  KVS_TRY(ReadFlag("--put-bytes", base::ParseBytes(flags.put_bytes), &options.put_bytes));
  KVS_TRY(CheckSize("--put-bytes", options.put_bytes));
  KVS_TRY(ReadFlag("--idle", base::ParseDuration(flags.idle), &options.idle));
  KVS_TRY(ReadFlag("--align", base::ParseDuration(flags.align), &options.align));
  if (!flags.evict.empty()) {
    KVS_TRY_ASSIGN(options.evict, ParseEviction(flags.evict, options.engine.tiers));
  }
  options.chunks = flags.chunks;
  options.steps = flags.steps;
  options.warmup = flags.warmup;
  options.seed = flags.seed;
  options.json_path = flags.json;
  options.keep = flags.keep;
  return options;
}

}  // namespace

int BenchCommand(int argc, const char* const* argv) {
  BenchFlags flags;
  CLI::App app(kDescription, "kvstream bench");
  app.footer(kFooter);
  flags.engine.Bind(&app);
  Bind(&app, &flags);
  if (const auto code = ParseCommandLine(&app, argc, argv)) return *code;
  const auto options = ReadOptions(flags);
  if (!options) {
    fmt::print(stderr, "kvstream bench: {}\n", options.error().message());
    return kExitBadInput;
  }
  return RunBench(*options);
}

}  // namespace kvstream::cli
