#include "cli/session.h"

#include <fmt/core.h>

#include "base/units.h"

namespace kvstream::cli {
namespace {

constexpr std::chrono::seconds kOpenLimit{30};
constexpr std::chrono::minutes kFlushLimit{5};
constexpr std::chrono::seconds kCloseLimit{30};

TimePoint In(std::chrono::nanoseconds duration) {
  return std::chrono::steady_clock::now() + duration;
}

void LogToStderr(LogLevel level, std::string_view message) {
  if (level < LogLevel::kWarning) return;
  fmt::print(stderr, "kvstream: {}: {}\n", level == LogLevel::kError ? "error" : "warning",
             message);
}

}  // namespace

Result<Session> Session::Open(const EngineArgs& args, const Identity& identity) {
  EngineOptions options = MakeEngineOptions(args);
  options.log = LogToStderr;
  Session session;
  KVS_TRY_ASSIGN(session.engine_, Engine::Open(options));
  KVS_TRY_ASSIGN(session.ns_, session.engine_->OpenNamespace(identity, In(kOpenLimit)));
  return session;
}

Status Session::Flush() { return engine_->Flush(In(kFlushLimit)); }

Status Session::Remove(std::span<const ChunkKey> keys) {
  engine_->Remove(ns_, keys);
  return Flush();
}

Status Session::Close() {
  if (engine_ == nullptr) return {};
  const auto unreleased = engine_->Close(In(kCloseLimit));
  if (unreleased.empty()) {
    engine_.reset();  // lets go of the owner's locks, so that the tiers can be opened again
    return {};
  }
  return Error(
      ErrorCode::kTimeout,
      fmt::format("close: {} buffers are still in the kernel's hands, the first one of tier {}",
                  unreleased.size(), unreleased[0].tier));
}

std::string DescribeTiers(const Stats& stats) {
  std::string text;
  for (const TierStats& tier : stats.tiers) {
    text += fmt::format("tier {}: {}, landing {}, {} of {} used, {} chunks\n", tier.name,
                        tier.backend, tier.landing == Landing::kBounce ? "bounce" : "direct",
                        base::FormatBytes(tier.used_bytes), base::FormatBytes(tier.capacity_bytes),
                        tier.chunks);
  }
  return text;
}

}  // namespace kvstream::cli
