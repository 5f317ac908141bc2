#include "engine/core_handle.h"

namespace kvstream::engine {

CoreHandle::CoreHandle(const core::CoreOptions& options, const base::Clock& clock,
                       io::BlockPool& stage_pool, std::function<void()> announce)
    : core_(options), clock_(clock), stage_pool_(stage_pool), announce_(std::move(announce)) {}

void CoreHandle::SetWakers(uint32_t tier, WakeFunction read, WakeFunction write) {
  wake_read_[tier] = std::move(read);
  wake_write_[tier] = std::move(write);
}

void CoreHandle::SetMemoryWaker(WakeFunction memory) { wake_memory_ = std::move(memory); }

bool CoreHandle::WaitFor(TimePoint deadline, const std::function<bool(core::Core&)>& done) {
  std::unique_lock lock(mutex_);
  const auto is_done = [&] { return done(core_); };
  if (deadline == kNoDeadline) {
    changed_.wait(lock, is_done);
    return true;
  }
  return changed_.wait_until(lock, deadline, is_done);
}

std::vector<Event> CoreHandle::TakeEvents() {
  const std::lock_guard lock(mutex_);
  announced_ = false;
  return core_.TakeEvents();
}

void CoreHandle::AfterCall(std::unique_lock<std::mutex>& lock) {
  const core::WakeMask wake = core_.TakeWake();
  const std::vector<std::byte*> freed = core_.TakeFreedBlocks();
  // Under the mutex: who is told that there is room finds the blocks.
  for (std::byte* block : freed) stage_pool_.Give(block);
  const bool announce = core_.has_events() && !announced_;
  if (announce) announced_ = true;
  const bool changed = core_.has_events() || !freed.empty() || core_.at_rest() || core_.closed();
  lock.unlock();
  for (uint32_t tier = 0; tier < kTiersMax; ++tier) {
    if ((wake.read >> tier & 1) != 0 && wake_read_[tier]) wake_read_[tier]();
    if ((wake.write >> tier & 1) != 0 && wake_write_[tier]) wake_write_[tier]();
  }
  if (wake.memory && wake_memory_) wake_memory_();
  if (announce) announce_();
  if (changed) changed_.notify_all();
}

}  // namespace kvstream::engine
