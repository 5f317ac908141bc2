#include "kvstream/engine.h"

#include <algorithm>
#include <atomic>

#include <fmt/format.h>

#include "engine/countdown.h"
#include "engine/engine_open.h"
#include "engine/staging.h"

namespace kvstream {
namespace {

constexpr auto kDestructorDeadline = std::chrono::seconds(5);

Error Closed() { return Error(ErrorCode::kShutdown, "the engine is closed"); }

Error UnknownNamespace(NamespaceId ns) {
  return Error(ErrorCode::kInvalidArgument, fmt::format("no namespace has the id {}", ns));
}

/// `share` of the time from now to the deadline.
TimePoint Within(TimePoint now, TimePoint deadline, double share) {
  if (deadline == kNoDeadline) return kNoDeadline;
  const auto left = std::max(deadline - now, TimePoint::duration(0));
  return now + std::chrono::duration_cast<TimePoint::duration>(left * share);
}

}  // namespace

class Engine::Impl {
 public:
  explicit Impl(std::shared_ptr<engine::EngineState> engine_state)
      : state(std::move(engine_state)) {}

  bool usable(NamespaceId ns) const { return state->namespaces.Contains(ns); }
  void WriteSnapshots(TimePoint deadline);

  std::shared_ptr<engine::EngineState> state;
  std::atomic<bool> closing = false;
  std::mutex close_mutex;
  bool closed = false;
  std::vector<UnreleasedBuffer> unreleased;
};

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<Engine>> Engine::Open(const EngineOptions& options) {
  KVS_TRY_ASSIGN(auto state, engine::OpenState(options));
  if (Status started = engine::StartThreads(state); !started) {
    engine::StopThreads(state, std::chrono::steady_clock::now() + kDestructorDeadline);
    return std::move(started).error();
  }
  engine::StartScans(state);
  return std::unique_ptr<Engine>(new Engine(std::make_unique<Impl>(std::move(state))));
}

Engine::~Engine() { Close(std::chrono::steady_clock::now() + kDestructorDeadline); }

// ---- Closing
// ---------------------------------------------------------------------------------------

std::vector<UnreleasedBuffer> Engine::Close(TimePoint deadline) {
  const std::lock_guard lock(impl_->close_mutex);
  if (impl_->closed) return impl_->unreleased;
  impl_->closing = true;
  engine::EngineState& state = *impl_->state;
  engine::CoreHandle& core = state.core;
  state.stop_scans.request_stop();
  core.Call([](core::Core& c, TimePoint now) { c.BeginClose(now); });
  const auto at_rest = [](core::Core& c) { return c.at_rest(); };
  core.WaitFor(Within(core.Now(), deadline, 0.6), at_rest);
  core.Call([](core::Core& c, TimePoint now) { c.Close(now); });
  core.WaitFor(Within(core.Now(), deadline, 0.4), at_rest);
  impl_->WriteSnapshots(Within(core.Now(), deadline, 0.6));
  impl_->unreleased = core.Peek([](const core::Core& c, TimePoint) { return c.Unreleased(); });
  const size_t stuck = engine::StopThreads(impl_->state, deadline);
  if (stuck > 0) {
    state.logger.Log(
        LogLevel::kWarning,
        fmt::format("closed with {} lanes stuck in the kernel and {} buffers not released", stuck,
                    impl_->unreleased.size()));
  }
  impl_->closed = true;
  return impl_->unreleased;
}

/// On the write lanes, so that a hung tier costs the deadline and no more.
void Engine::Impl::WriteSnapshots(TimePoint deadline) {
  auto written = std::make_shared<engine::Countdown>(state->tiers.size());
  for (uint32_t index = 0; index < state->tiers.size(); ++index) {
    const bool posted = state->tiers[index]->write_lane->Post([s = state, index, written] {
      engine::OpenTier& tier = *s->tiers[index];
      auto [snapshot, quiet] = s->core.Peek([&](const core::Core& c, TimePoint) {
        return std::pair(engine::CollectSnapshot(c, s->namespaces, index), c.quiet());
      });
      const Status status = tier.directory->WriteSnapshot(snapshot, quiet && tier.scanned);
      if (!status) {
        s->logger.Log(LogLevel::kWarning, fmt::format("tier {}: no snapshot: {}", tier.name,
                                                      status.error().ToString()));
      }
      written->Done();
    });
    if (!posted) written->Done();
  }
  written->WaitUntil(deadline);
}

// ---- Namespaces and lookups
// ------------------------------------------------------------------------

Result<NamespaceId> Engine::OpenNamespace(const Identity& identity, TimePoint deadline) {
  if (impl_->closing) return Closed();
  if (identity.model.empty()) {
    return Error(ErrorCode::kInvalidArgument, "an identity needs a model");
  }
  struct Outcomes {
    explicit Outcomes(size_t count) : answered(count) {}
    engine::Countdown answered;
    std::mutex mutex;
    size_t made = 0;
    std::vector<Error> errors;
  };
  auto outcomes = std::make_shared<Outcomes>(impl_->state->tiers.size());
  for (const auto& tier : impl_->state->tiers) {
    const bool posted =
        tier->write_lane->Post([state = impl_->state, t = tier.get(), identity, outcomes] {
          Status made = t->directory->CreateNamespace(identity);
          {
            const std::lock_guard lock(outcomes->mutex);
            outcomes->made += made ? 1 : 0;
            if (!made) outcomes->errors.push_back(made.error().Clone());
          }
          if (!made) {
            state->logger.Log(LogLevel::kWarning, fmt::format("tier {}: namespace not created: {}",
                                                              t->name, made.error().ToString()));
          }
          outcomes->answered.Done();
        });
    if (!posted) outcomes->answered.Done();
  }
  outcomes->answered.WaitUntil(deadline);
  const std::lock_guard lock(outcomes->mutex);
  if (outcomes->made == 0 && !outcomes->errors.empty()) return outcomes->errors.front().Clone();
  if (outcomes->made == 0) return Error(ErrorCode::kTimeout, "no tier answered in time");
  const auto id = impl_->state->namespaces.Open(identity);
  if (!id) return Error(ErrorCode::kNoSpace, "this engine has 65,536 namespaces already");
  return *id;
}

LeaseId Engine::Lookup(NamespaceId ns, std::span<const ChunkKey> keys,
                       std::span<LookupResult> results, bool lease) {
  if (!lease) {
    impl_->state->core.Peek([&](const core::Core& c, TimePoint) { c.Lookup(ns, keys, results); });
    return 0;
  }
  return impl_->state->core.Call([&](core::Core& c, TimePoint now) {
    c.Lookup(ns, keys, results);
    return c.Lease(ns, keys, now);
  });
}

Result<JobId> Engine::LookupAsync(NamespaceId ns, std::span<const ChunkKey> keys, bool discover,
                                  bool lease) {
  if (impl_->closing) return Closed();
  if (!impl_->usable(ns)) return UnknownNamespace(ns);
  std::vector<ChunkKey> copy(keys.begin(), keys.end());
  return impl_->state->core.Call([&](core::Core& c, TimePoint now) {
    return c.LookupAsync(ns, std::move(copy), discover, lease, now);
  });
}

Result<Engine::LookupOutcome> Engine::TakeLookup(JobId job) {
  auto outcome =
      impl_->state->core.Call([&](core::Core& c, TimePoint) { return c.TakeLookup(job); });
  if (!outcome)
    return Error(ErrorCode::kNotFound, fmt::format("no finished lookup is job {}", job));
  return *std::move(outcome);
}

void Engine::Release(LeaseId lease) {
  impl_->state->core.Call([&](core::Core& c, TimePoint) { c.Release(lease); });
}

void Engine::Touch(NamespaceId ns, std::span<const ChunkKey> keys) {
  impl_->state->core.Call([&](core::Core& c, TimePoint) { c.Touch(ns, keys); });
}

void Engine::Remove(NamespaceId ns, std::span<const ChunkKey> keys, TierMask tiers) {
  impl_->state->core.Call([&](core::Core& c, TimePoint now) { c.Remove(ns, keys, tiers, now); });
}

// ---- Reads and writes
// ------------------------------------------------------------------------------

Result<JobId> Engine::Read(NamespaceId ns, std::span<const ReadItem> items,
                           const ReadOptions& options) {
  if (impl_->closing) return Closed();
  if (!impl_->usable(ns)) return UnknownNamespace(ns);
  std::vector<core::ReadRequest> requests;
  requests.reserve(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    const bool empty = std::ranges::any_of(
        items[i].segments, [](const std::span<std::byte>& segment) { return segment.empty(); });
    if (empty || items[i].segments.empty()) {
      return Error(ErrorCode::kInvalidArgument, fmt::format("read item {}: an empty segment", i));
    }
    requests.push_back({items[i].key, {items[i].segments.begin(), items[i].segments.end()}});
  }
  return impl_->state->core.Call([&](core::Core& c, TimePoint now) {
    return c.Read(ns, std::move(requests), options.deadline, options.lease, now);
  });
}

Result<WriteTicket> Engine::Write(NamespaceId ns, std::span<const WriteItem> items,
                                  const WriteJobOptions& options) {
  if (impl_->closing) return Closed();
  if (!impl_->usable(ns)) return UnknownNamespace(ns);
  return engine::StageWrites(*impl_->state, ns, items, options);
}

void Engine::Cancel(JobId job) {
  impl_->state->core.Call([&](core::Core& c, TimePoint now) { c.Cancel(job, now); });
}

void Engine::StepBegin() {
  impl_->state->core.Call([](core::Core& c, TimePoint) { c.StepBegin(); });
}

void Engine::ForwardBegan() {
  impl_->state->core.Call([](core::Core& c, TimePoint now) { c.ForwardBegan(now); });
}

Status Engine::Flush(TimePoint deadline) {
  if (impl_->closing) return Closed();
  const uint64_t flush =
      impl_->state->core.Call([](core::Core& c, TimePoint now) { return c.Flush(now); });
  const bool done = impl_->state->core.WaitFor(
      deadline, [&](core::Core& c) { return c.FlushDone(flush) || c.closed(); });
  if (impl_->closing) return Closed();
  if (!done) return Error(ErrorCode::kTimeout, "staged writes are not all settled");
  return {};
}

// ---- Events and statistics
// -------------------------------------------------------------------------

int Engine::event_fd() const { return impl_->state->event_signal->fd(); }

std::vector<Event> Engine::Poll() {
  impl_->state->event_signal->Reset();
  return impl_->state->core.TakeEvents();
}

Result<Event> Engine::Wait(JobId job, TimePoint deadline) {
  std::optional<Event> last;
  const bool ended = impl_->state->core.WaitFor(deadline, [&](core::Core& c) {
    last = c.LastEvent(job);
    return !c.HasJob(job) || c.closed();
  });
  if (!last && impl_->closing) return Closed();
  if (!ended) return Error(ErrorCode::kTimeout, fmt::format("job {} has not ended", job));
  if (!last) return Error(ErrorCode::kNotFound, fmt::format("no event of job {} waits", job));
  return *last;
}

Status Engine::SetRouting(const RoutingOptions& routing) {
  if (routing.policy == Policy::kSingleTier && routing.tier >= impl_->state->tiers.size()) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("routing names tier {}, there are {}", routing.tier,
                             impl_->state->tiers.size()));
  }
  return impl_->state->core.Call([&](core::Core& c, TimePoint) { return c.SetRouting(routing); });
}

Stats Engine::GetStats() const {
  Stats stats =
      impl_->state->core.Peek([](const core::Core& c, TimePoint now) { return c.GetStats(now); });
  for (size_t tier = 0; tier < stats.tiers.size(); ++tier) {
    stats.tiers[tier].backend = impl_->state->tiers[tier]->backend;
  }
  return stats;
}

}  // namespace kvstream
