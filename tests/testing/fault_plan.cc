#include "testing/fault_plan.h"

#include <utility>

namespace kvstream::test {

void FaultPlan::Add(FaultRule rule) {
  const std::lock_guard lock(mutex_);
  rules_.push_back({std::move(rule), 0});
}

void FaultPlan::Clear() {
  const std::lock_guard lock(mutex_);
  rules_.clear();
}

std::optional<Fault> FaultPlan::Next(FaultOp op, std::string_view path) {
  const std::lock_guard lock(mutex_);
  ++seen_[static_cast<size_t>(op)];
  std::optional<Fault> fault;
  for (ActiveRule& active : rules_) {
    const FaultRule& rule = active.rule;
    if (rule.op != op || path.find(rule.path_contains) == std::string_view::npos) continue;
    // Every matching rule counts and draws, so that one rule does not shift another.
    if (!Fires(active) || fault.has_value()) continue;
    fault = Fault{rule.kind, rule.error, rule.factor, rule.delay, prng_.Next(), epoch_};
    ++fired_;
  }
  return fault;
}

bool FaultPlan::Fires(ActiveRule& active) {
  const FaultRule& rule = active.rule;
  ++active.matches;
  if (rule.first == 0) return prng_.Chance(rule.probability);
  return active.matches >= rule.first && active.matches - rule.first < rule.count;
}

void FaultPlan::Release() {
  {
    const std::lock_guard lock(mutex_);
    ++epoch_;
  }
  released_.notify_all();
}

bool FaultPlan::Released(const Fault& fault) const {
  const std::lock_guard lock(mutex_);
  return epoch_ > fault.hang_epoch;
}

void FaultPlan::WaitReleased(const Fault& fault) const {
  std::unique_lock lock(mutex_);
  released_.wait(lock, [&] { return epoch_ > fault.hang_epoch; });
}

uint64_t FaultPlan::seen(FaultOp op) const {
  const std::lock_guard lock(mutex_);
  return seen_[static_cast<size_t>(op)];
}

uint64_t FaultPlan::fired() const {
  const std::lock_guard lock(mutex_);
  return fired_;
}

}  // namespace kvstream::test
