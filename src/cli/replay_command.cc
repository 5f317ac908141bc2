#include "cli/replay_command.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>

#include <fmt/core.h>

#include "kvstream/engine.h"

#include "base/units.h"
#include "cli/engine_flags.h"
#include "cli/exit_code.h"
#include "cli/replay.h"
#include "cli/trace_flags.h"

namespace kvstream::cli {
namespace {

constexpr const char* kDescription =
    "Replays a trace of LLM requests step by step against real files on several tiers. Each step "
    "matches "
    "the prefixes of its requests, reads what host memory does not have, sleeps for the forward "
    "pass, and "
    "hands the new chunks over as writes. Payloads are a function of the key: every byte read is "
    "compared. With several policies each step is read once under each, in rotating order, after "
    "all "
    "writes have settled.";
constexpr const char* kFooter =
    "Sizes are 4096, 600MiB, 1.5GB; bandwidths 600MiB/s; times 20ms, 2s.\n"
    "The forward pass is constant=TIME, or roofline: with P parameters, L layers, hidden width h "
    "(--model),\n"
    "n new tokens after c retrieved ones, max((2 P n + 4 L h sum n (c + n/2)) / (4 x 989 TFLOP/s x "
    "0.6),\n"
    "(2 P + KV of c) bytes / (4 x 3.35 TB/s x 0.9)).\n"
    "Exit: 0 done, 1 a wrong byte or a failure, 2 bad input (nothing written), 130 interrupted.";

struct ReplayFlags {
  EngineFlags engine;
  TraceFlags trace;
  std::string model;
  std::string chunk_bytes;
  size_t batch_requests = BatchLimits{}.requests_max;
  uint64_t batch_tokens = BatchLimits{}.tokens_max;
  std::string host_cache = "256MiB";
  std::string read_buffer = "2GiB";
  std::string forward = "constant=50ms";
  double time_scale = 1;
  std::string arrivals = "step";
  std::string step_log;
  std::string json;
  bool keep = false;
  bool reopen = false;
};

void BindServing(CLI::App* app, ReplayFlags* flags) {
  const auto add = [app](const char* name, auto& target, const char* help) {
    return app->add_option(name, target, help)->group("Serving")->capture_default_str();
  };
  add("--model", flags->model,
      "14B, 32B, 70B or 110B: KV bytes per token and rank at TP 4 (40, 64, 80, 80 KiB), and the "
      "model of "
      "--forward roofline");
  add("--chunk-bytes", flags->chunk_bytes,
      "Bytes of a chunk; overrides --model, for example to fit the disk. 1MiB without either");
  add("--batch-requests", flags->batch_requests, "Requests in a step, at most")
      ->check(CLI::PositiveNumber);
  add("--batch-tokens", flags->batch_tokens,
      "Prompt tokens in a step, at most (one request always fits)");
  add("--host-cache", flags->host_cache, "Host memory in front of storage, as an index only");
  add("--read-buffer", flags->read_buffer, "Memory for one step's reads; larger steps are split");
  add("--forward", flags->forward, "Forward pass: constant=TIME or roofline");
  add("--time-scale", flags->time_scale, "Factor on the forward pass as it is slept");
  add("--arrivals", flags->arrivals,
      "For the waits: step (a request arrives when its step begins), or recorded[:FACTOR] (at the "
      "trace's time)");
}

void BindOutput(CLI::App* app, ReplayFlags* flags) {
  app->add_option("--step-log", flags->step_log, "Writes one JSON object a read, with its chunks")
      ->group("Output")
      ->type_name("FILE");
  app->add_option("--json", flags->json, "Writes the summary; - is stdout (tables go to stderr)")
      ->group("Output")
      ->type_name("FILE");
  app->add_flag("--keep", flags->keep, "Leaves the chunks on the tiers, for another run to hit")
      ->group("Output");
  app->add_flag("--reopen", flags->reopen,
                "Then closes and opens the engine and counts what is still there")
      ->group("Output");
}

Error Refuse(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

Status ReadArrivals(const std::string& text, ReplayOptions* options) {
  constexpr std::string_view kRecorded = "recorded";
  if (text == "step") return {};
  options->arrivals = Arrivals::kRecorded;
  if (text == kRecorded) return {};
  const std::string_view rest =
      std::string_view(text).substr(std::min(kRecorded.size(), text.size()));
  if (text.starts_with(kRecorded) && rest[0] == ':') {
    const auto [end, error] =
        std::from_chars(rest.data() + 1, rest.data() + rest.size(), options->arrival_scale);
    const bool whole = error == std::errc() && end == rest.data() + rest.size();
    if (whole && std::isfinite(options->arrival_scale) && options->arrival_scale > 0) return {};
  }
  return Refuse(fmt::format("--arrivals {}: expected step or recorded[:FACTOR]", text));
}

// As in the paper; a chunk is that of one rank.
constexpr uint32_t kModelRanks = 4;

Status ReadModel(const ReplayFlags& flags, ReplayOptions* options) {
  std::optional<model::ModelPreset> model;
  options->chunk_bytes = kMiB;
  if (!flags.model.empty()) {
    auto found = model::FindModel(flags.model);
    if (!found) return std::move(found).error().WithContext("--model " + flags.model);
    model = *found;
    options->chunk_bytes = model->RankKvBytesPerToken(kModelRanks) * flags.trace.chunk_tokens();
  }
  if (!flags.chunk_bytes.empty()) {
    KVS_TRY(ReadFlag("--chunk-bytes", base::ParseBytes(flags.chunk_bytes), &options->chunk_bytes));
  }
  if (options->chunk_bytes == 0 || options->chunk_bytes > kChunkBytesMax) {
    return Refuse(
        fmt::format("a chunk of {} bytes: must be 1 to {}", options->chunk_bytes, kChunkBytesMax));
  }
  KVS_TRY_ASSIGN(options->forward, ForwardModel::Parse(flags.forward, model ? &*model : nullptr));
  if (!std::isfinite(flags.time_scale) || flags.time_scale < 0) {
    return Refuse("--time-scale: must be 0 or more");
  }
  options->time_scale = flags.time_scale;
  return {};
}

Result<ReplayOptions> ReadOptions(const ReplayFlags& flags) {
  ReplayOptions options;
  KVS_TRY_ASSIGN(options.engine, flags.engine.Read());
  KVS_TRY_ASSIGN(options.policies, flags.engine.ReadPolicies(options.engine, {"kvstream"}));
  KVS_TRY(ReadModel(flags, &options));
  KVS_TRY_ASSIGN(options.trace, flags.trace.Read());
  KVS_TRY(ReadArrivals(flags.arrivals, &options));
  KVS_TRY(ReadFlag("--host-cache", base::ParseBytes(flags.host_cache), &options.host_cache_bytes));
  KVS_TRY(
      ReadFlag("--read-buffer", base::ParseBytes(flags.read_buffer), &options.read_buffer_bytes));
  options.trace_source = flags.trace.source();
  options.batch = {flags.batch_requests, flags.batch_tokens};
  options.step_log_path = flags.step_log;
  options.json_path = flags.json;
  options.keep = flags.keep;
  options.reopen = flags.reopen;
  return options;
}

}  // namespace

int ReplayCommand(int argc, const char* const* argv) {
  ReplayFlags flags;
  CLI::App app(kDescription, "kvstream replay");
  app.footer(kFooter);
  flags.engine.Bind(&app);
  flags.trace.Bind(&app);
  BindServing(&app, &flags);
  BindOutput(&app, &flags);
  if (const auto code = ParseCommandLine(&app, argc, argv)) return *code;
  const auto options = ReadOptions(flags);
  if (!options) {
    fmt::print(stderr, "kvstream replay: {}\n", options.error().message());
    return kExitBadInput;
  }
  return RunReplay(*options);
}

}  // namespace kvstream::cli
