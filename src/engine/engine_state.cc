#include "engine/engine_state.h"

#include <pthread.h>

#include <system_error>

namespace kvstream::engine {
namespace {

/// Longest sleep of a lane without work: a missed wake-up costs this much, not for ever.
constexpr auto kLaneSleepMax = std::chrono::milliseconds(500);

void RunThread(const std::string& name, std::shared_ptr<EngineState> state,
               std::function<void()> body) {
  ::pthread_setname_np(::pthread_self(), name.substr(0, 15).c_str());
  body();
  const std::shared_ptr<ThreadCount> threads = state->threads;
  body = nullptr;
  state.reset();
  const std::lock_guard lock(threads->mutex);
  --threads->running;
  threads->changed.notify_all();
}

/// A lane runs until it is told to stop and has nothing in flight.
template <typename Lane>
void RunLane(const EngineState& state, Lane& lane) {
  while (!state.stop_lanes || !lane.idle()) lane.RunOnce(kLaneSleepMax);
  lane.Close();
}

}  // namespace

void Logger::Log(LogLevel level, const std::string& message) {
  const std::lock_guard lock(mutex_);
  if (sink_) sink_(level, message);
}

EngineState::EngineState(const EngineOptions& engine_options, const core::CoreOptions& core_options,
                         std::unique_ptr<io::BlockPool> stage, std::unique_ptr<EventSignal> signal)
    : options(engine_options),
      logger(engine_options.log),
      event_signal(std::move(signal)),
      stage_pool(std::move(stage)),
      core(core_options, clock, *stage_pool, [this] { event_signal->Raise(); }),
      memory_lane(core, engine_options.verify == Verify::kAlways) {}

EngineState::~EngineState() {
  const auto blocks = core.Call([](core::Core& c, TimePoint) { return c.SurrenderBlocks(); });
  for (std::byte* block : blocks) stage_pool->Give(block);
}

Status SpawnThread(const std::shared_ptr<EngineState>& state, const std::string& name,
                   std::function<void()> body) {
  ThreadCount& threads = *state->threads;
  {
    const std::lock_guard lock(threads.mutex);
    ++threads.running;
  }
  try {
    std::thread(RunThread, name, state, std::move(body)).detach();
  } catch (const std::system_error& error) {
    const std::lock_guard lock(threads.mutex);
    --threads.running;
    return Error(ErrorCode::kNoSpace, "cannot start a thread", error.code().value());
  }
  return {};
}

Status StartThreads(const std::shared_ptr<EngineState>& state) {
  state->core.SetMemoryWaker([lane = &state->memory_lane] { lane->Wake(); });
  for (uint32_t index = 0; index < state->tiers.size(); ++index) {
    OpenTier* tier = state->tiers[index].get();
    state->core.SetWakers(
        index, [lane = tier->read_lane.get()] { lane->Wake(); },
        [lane = tier->write_lane.get()] { lane->Wake(); });
  }
  for (const auto& tier : state->tiers) {
    OpenTier* t = tier.get();
    KVS_TRY(SpawnThread(state, "kvs-r-" + t->name, [state, t] { RunLane(*state, *t->read_lane); }));
    KVS_TRY(
        SpawnThread(state, "kvs-w-" + t->name, [state, t] { RunLane(*state, *t->write_lane); }));
  }
  return SpawnThread(state, "kvs-memory", [state] {
    while (!state->stop_lanes) state->memory_lane.Sleep(state->memory_lane.RunOnce());
  });
}

size_t StopThreads(const std::shared_ptr<EngineState>& state, TimePoint deadline) {
  state->stop_lanes = true;
  state->stop_scans.request_stop();
  state->memory_lane.Wake();
  for (const auto& tier : state->tiers) {
    tier->read_lane->Wake();
    tier->write_lane->Wake();
  }
  ThreadCount& threads = *state->threads;
  std::unique_lock lock(threads.mutex);
  threads.changed.wait_until(lock, deadline, [&] { return threads.running == 0; });
  return threads.running;
}

}  // namespace kvstream::engine
