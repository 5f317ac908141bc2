#include "cli/trace_flags.h"

#include <charconv>
#include <string_view>

#include <fmt/core.h>

namespace kvstream::cli {
namespace {

constexpr std::string_view kInterleave = "interleave";

Error Refuse(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

Status ReadOrder(const std::string& text, trace::TraceOptions* trace) {
  if (text == "recorded") {
    trace->order = trace::Order::kRecorded;
  } else if (text == "sequential") {
    trace->order = trace::Order::kSequential;
  } else if (text == "round-robin") {
    trace->order = trace::Order::kRoundRobin;
  } else if (text.starts_with(kInterleave)) {
    trace->order = trace::Order::kInterleave;
    const std::string_view rest = std::string_view(text).substr(kInterleave.size());
    if (rest.empty()) return {};
    const auto [end, error] =
        std::from_chars(rest.data() + 1, rest.data() + rest.size(), trace->window);
    if (rest[0] != ':' || error != std::errc() || end != rest.data() + rest.size()) {
      return Refuse(fmt::format("--order {}: expected interleave:N", text));
    }
  } else {
    return Refuse(
        fmt::format("--order {}: none of recorded, sequential, round-robin, interleave[:N]", text));
  }
  return {};
}

}  // namespace

void TraceFlags::Bind(CLI::App* app) {
  const auto add = [app](const char* name, auto& target, const char* help) {
    return app->add_option(name, target, help)->group("Trace")->capture_default_str();
  };
  add("--trace", source_,
      "File or directory, plain or gzip, or built-in generator, as in "
      "builtin:agent,sessions=8,turns=20,seed=1; docs/traces.md has all");
  add("--format", options_.format, "auto, or a format of docs/traces.md");
  add("--prefixes", options_.prefixes,
      "What prompts of a file with lengths only share: shared:TOKENS, session or none; without it "
      "such a file is refused");
  app->add_flag("--shared-heads", options_.shared_heads,
                "weka, prefix-trie: tools and system prompts are the same in all sessions")
      ->group("Trace");
  add("--lmcache-model", options_.model, "lmcache: only the rows of this model");
  add("--lmcache-output", options_.output_tokens, "lmcache: output tokens of each request");
  add("--order", order_,
      "recorded, sequential, round-robin, or interleave[:N], a random one of N open sessions");
  add("--chunk-tokens", options_.chunk_tokens, "Tokens per chunk");
  add("--sessions", options_.sessions_max, "Only the first N sessions; 0 is all");
  add("--requests", options_.requests_max, "Only the first N requests of the order; 0 is all");
  add("--context-max", options_.context_tokens_max,
      "Ends a session before its first prompt of more tokens; 0 is no limit");
  add("--turns-min", options_.session_turns_min, "Drops sessions with fewer requests");
  add("--seed", options_.seed, "Seed of everything random but a generator");
}

Result<trace::TraceOptions> TraceFlags::Read() const {
  trace::TraceOptions options = options_;
  KVS_TRY(ReadOrder(order_, &options));
  return options;
}

}  // namespace kvstream::cli
