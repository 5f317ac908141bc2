#include "cli/bench.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "cli/bench_context.h"
#include "cli/exit_code.h"
#include "cli/fio_runner.h"
#include "cli/interrupt.h"
#include "cli/json_file.h"
#include "cli/report.h"

namespace kvstream::cli {
namespace {

Error Refuse(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

Identity BenchIdentity(const BenchOptions& options) {
  Identity identity;
  identity.model = "kvstream-bench";
  identity.dtype = "bytes";
  identity.layout = "generated-payload";
  identity.adapter = "kvstream-cli";
  identity.row_bytes = options.chunk_bytes;
  return identity;
}

Status CheckOptions(const BenchOptions& options) {
  KVS_TRY(CheckTiers(options.engine.tiers, options.chunk_bytes));
  const bool uses_fio = options.mode == BenchMode::kSingle ||
                        (options.mode == BenchMode::kStep && options.ceiling == Ceiling::kFio);
  if (options.mode == BenchMode::kSingle && options.engine.tiers.size() != 1) {
    return Refuse("--mode single: takes one tier");
  }
  if (!uses_fio) return {};
  for (const TierArg& tier : options.engine.tiers) {
    if (tier.options.shape.read_bytes_per_second == 0) continue;
    return Refuse(
        fmt::format("{}: fio does not see limit=; use --ceiling raw or loop, or limit the "
                    "device itself",
                    tier.origin));
  }
  if (!HasFio()) return Refuse("fio is not installed; use --ceiling raw or loop");
  return {};
}

Status RunMode(BenchContext& bench, nlohmann::json* summary) {
  if (bench.options().mode == BenchMode::kPut) return BenchPut(bench, summary);
  KVS_TRY(bench.Prepare());
  switch (bench.options().mode) {
    case BenchMode::kSingle:
      return BenchSingle(bench, summary);
    case BenchMode::kFlood:
      return BenchFlood(bench, summary);
    case BenchMode::kStep:
    case BenchMode::kPut:
      break;
  }
  return BenchSteps(bench, summary);
}

// An interrupted fio fails; that is SIGINT's doing.
Result<ExitCode> Finish(BenchContext& bench, const Status& ran, nlohmann::json* summary) {
  const Stats stats = bench.session().engine().GetStats();
  fmt::print(bench.out(), "\n{}", EngineTable(stats));
  if (!ran && !(Interrupted() && ran.error().code() != ErrorCode::kCorruption)) {
    return ran.error().Clone();
  }
  (*summary)["engine"] = EngineJson(stats);
  (*summary)["interrupted"] = Interrupted();
  if (!bench.options().json_path.empty()) {
    KVS_TRY(WriteJson(bench.options().json_path, *summary));
  }
  if (Interrupted()) return kExitInterrupted;
  if (!bench.options().keep) KVS_TRY(bench.RemoveAll());
  return kExitOk;
}

Result<ExitCode> Bench(const BenchOptions& options) {
  KVS_TRY_ASSIGN(Session session, Session::Open(options.engine, BenchIdentity(options)));
  BenchContext bench(options, session, options.json_path == "-" ? stderr : stdout);
  fmt::print(bench.out(), "{}", DescribeTiers(session.engine().GetStats()));
  nlohmann::json summary = {{"command", "bench"},
                            {"chunks", options.chunks},
                            {"chunk_bytes", options.chunk_bytes},
                            {"seed", options.seed}};
  const Status ran = RunMode(bench, &summary);
  auto code = Finish(bench, ran, &summary);
  if (auto closed = session.Close(); !closed) {
    // Returning would free memory that the kernel may still write to.
    fmt::print(stderr, "kvstream bench: {}\n", closed.error().message());
    std::fflush(nullptr);
    std::_Exit(kExitFailed);
  }
  return code;
}

}  // namespace

Result<Eviction> ParseEviction(std::string_view text, const std::vector<TierArg>& tiers) {
  const size_t colon = std::min(text.find(':'), text.size());
  std::string_view amount = text.substr(0, colon);
  const std::string_view tier = colon < text.size() ? text.substr(colon + 1) : "";
  const bool percent = amount.ends_with('%');
  if (percent) amount.remove_suffix(1);
  Eviction eviction;
  const auto [end, error] =
      std::from_chars(amount.data(), amount.data() + amount.size(), eviction.share);
  if (percent) eviction.share /= 100;
  const bool share_ok = error == std::errc() && end == amount.data() + amount.size() &&
                        eviction.share > 0 && eviction.share <= 1;
  for (size_t index = 0; index < tiers.size() && share_ok; ++index) {
    if (tiers[index].options.name != tier && std::to_string(index) != tier) continue;
    eviction.tier = static_cast<uint32_t>(index);
    return eviction;
  }
  return Refuse(
      fmt::format("--evict {}: expected SHARE:TIER, for example 20%:1, with a share above 0 "
                  "and at most 100 % and a tier's number or name",
                  text));
}

int RunBench(const BenchOptions& options) {
  if (auto checked = CheckOptions(options); !checked) {
    fmt::print(stderr, "kvstream bench: {}\n", checked.error().message());
    return kExitBadInput;
  }
  const auto code = Bench(options);
  if (code) return *code;
  fmt::print(stderr, "kvstream bench: {}\n", code.error().message());
  return ExitCodeFor(code.error());
}

}  // namespace kvstream::cli
