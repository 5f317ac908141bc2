#include "sim/device.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/assert.h"
#include "base/distributions.h"

namespace kvstream::sim {
namespace {

/// What rounding up to nanoseconds and adding doubles can leave of a transfer that is through.
constexpr double kBytesLeftMax = 1e-3;

Error BadField(const TierModel& tier, std::string_view what) {
  return {ErrorCode::kInvalidArgument, fmt::format("tier '{}': {}", tier.name, what)};
}

}  // namespace

Status Validate(const TierModel& tier) {
  if (tier.name.empty()) return BadField(tier, "the name is empty");
  if (Status series = Validate(tier.series); !series) {
    return std::move(series).error().WithContext(fmt::format("tier '{}'", tier.name));
  }
  if (tier.capacity_bytes == 0) return BadField(tier, "'capacity' must be above 0");
  if (!(tier.interference >= 0 && tier.interference <= 10)) {
    return BadField(tier, "'interference' must be from 0 to 10");
  }
  const LatencyModel& latency = tier.latency;
  if (!(latency.median_s >= 0 && latency.median_s <= 3600)) {
    return BadField(tier, "the median latency must be from 0 to 3600 s");
  }
  if (!(latency.sigma >= 0 && latency.sigma <= 3)) {
    return BadField(tier, "sigma of the latency must be from 0 to 3");
  }
  if (!(latency.tail_probability >= 0 && latency.tail_probability <= 1)) {
    return BadField(tier, "the tail's probability must be from 0 to 1");
  }
  if (!(latency.tail_factor >= 1 && latency.tail_factor <= 1e6)) {
    return BadField(tier, "the tail's factor must be from 1 to 1e6");
  }
  if (!(tier.total.read > 0 && tier.total.write > 0)) {
    return BadField(tier, "the total bandwidths must be above 0");
  }
  return {};
}

Device::Transfer::Transfer(Done done, void* context)
    : done_(done),
      context_(context),
      arrival_(EventKind::kTransfer, kCalls<&Transfer::Arrive>, this) {}

void Device::Transfer::Arrive() { device_->Enqueue(*this); }

Device::Device(const TierModel& tier, const Options& options, EventQueue& queue)
    : tier_(tier),
      queue_(queue),
      per_rank_(1.0 / options.ranks),
      prng_(options.seed),
      cursor_(tier.series, prng_.Next()),
      bandwidth_(cursor_.value()),
      lanes_(size_t{2} * options.nodes),
      served_(EventKind::kTransfer, kCalls<&Device::OnServed>, this),
      change_(EventKind::kBandwidth, kCalls<&Device::OnBandwidthChange>, this) {
  KVS_ASSERT(options.nodes > 0 && options.ranks > 0);
  KVS_ASSERT(tier.shared || options.nodes == 1);
}

void Device::Submit(uint32_t node, Direction direction, uint64_t bytes, Transfer& transfer) {
  KVS_ASSERT(!transfer.under_way() && bytes > 0);
  transfer.device_ = this;
  transfer.bytes_ = bytes;
  transfer.lane_ = LaneOf(node, direction);
  transfer.next_ = nullptr;
  KVS_ASSERT(transfer.lane_ < lanes_.size());
  if (tier_.latency.median_s == 0) return Enqueue(transfer);
  queue_.ScheduleIn(transfer.arrival_, SampleLatency());
}

void Device::SetBandwidth(const Bandwidth& bandwidth) {
  KVS_ASSERT(bandwidth.read > 0 && bandwidth.write > 0);
  KVS_ASSERT(std::holds_alternative<ConstantShape>(tier_.series.shape));
  Progress();
  bandwidth_ = bandwidth;
  SetRates();
}

Bandwidth Device::rank_bandwidth() {
  if (busy_.empty()) CatchUp();
  return {.read = std::min(bandwidth_.read, tier_.total.read) * per_rank_,
          .write = std::min(bandwidth_.write, tier_.total.write) * per_rank_};
}

double Device::SampleLatency() {
  const LatencyModel& latency = tier_.latency;
  double seconds = latency.median_s;
  if (latency.sigma > 0) seconds *= std::exp(latency.sigma * base::Normal(prng_));
  if (latency.tail_probability > 0 && prng_.Chance(latency.tail_probability)) {
    seconds *= latency.tail_factor;
  }
  return seconds;
}

void Device::Enqueue(Transfer& transfer) {
  Lane& lane = lanes_[transfer.lane_];
  if (lane.first != nullptr) {
    lane.last->next_ = &transfer;
    lane.last = &transfer;
    return;
  }
  lane.first = &transfer;
  lane.last = &transfer;
  lane.left = static_cast<double>(transfer.bytes_);
  Progress();
  Activate(transfer.lane_);
  SetRates();
}

/// Idle devices let their series lie: an event for each of its steps would be most of a run.
void Device::CatchUp() {
  while (cursor_.next_change() <= queue_.now()) {
    cursor_.Advance();
    bandwidth_ = cursor_.value();
  }
}

void Device::Activate(uint32_t lane) {
  if (busy_.empty()) {
    CatchUp();
    if (cursor_.next_change() != kNoDeadline) queue_.Schedule(change_, cursor_.next_change());
  }
  busy_.insert(std::ranges::upper_bound(busy_, lane), lane);
}

/// Takes what was served since the last time off every lane.
void Device::Progress() {
  const double seconds = std::chrono::duration<double>(queue_.now() - progressed_).count();
  progressed_ = queue_.now();
  if (seconds == 0) return;
  for (const uint32_t lane : busy_) lanes_[lane].left -= seconds * lanes_[lane].rate;
}

void Device::SetRates() {
  uint32_t users[2] = {0, 0};
  for (const uint32_t lane : busy_) ++users[lane % 2];
  const double read =
      per_rank_ * std::min(bandwidth_.read, tier_.total.read / std::max(users[0], 1u));
  const double write =
      per_rank_ * std::min(bandwidth_.write, tier_.total.write / std::max(users[1], 1u));
  // Both at v bytes a second: v / read + v / write is the time of the work apart.
  const double both =
      read > 0 && write > 0 ? 1 / ((1 + tier_.interference) * (1 / read + 1 / write)) : 0;
  for (const uint32_t lane : busy_) {
    const bool mixed = lanes_[lane ^ 1].first != nullptr;
    lanes_[lane].rate = mixed ? both : lane % 2 == 0 ? read : write;
  }
  ScheduleNext();
}

void Device::ScheduleNext() {
  double seconds = std::numeric_limits<double>::infinity();
  for (const uint32_t index : busy_) {
    const Lane& lane = lanes_[index];
    if (lane.rate > 0) seconds = std::min(seconds, lane.left / lane.rate);
  }
  if (std::isfinite(seconds)) return queue_.ScheduleIn(served_, seconds);
  queue_.Cancel(served_);  // idle, or stopped until the bandwidth changes
}

void Device::OnServed() {
  Progress();
  bool lanes_changed = false;
  std::erase_if(busy_, [&](uint32_t index) {
    Lane& lane = lanes_[index];
    if (lane.left > kBytesLeftMax) return false;
    Transfer* transfer = lane.first;
    finished_.push_back(transfer);
    lane.first = transfer->next_;
    if (lane.first == nullptr) {
      lanes_changed = true;
      return true;
    }
    lane.left += static_cast<double>(lane.first->bytes_);  // what the nanosecond served too much
    return false;
  });
  if (busy_.empty()) queue_.Cancel(change_);
  if (lanes_changed) {
    SetRates();
  } else {
    ScheduleNext();
  }
  // Done may submit to this device again, which never ends in another transfer before it returns.
  for (Transfer* transfer : finished_) {
    transfer->device_ = nullptr;
    ++transfers_done_;
    transfer->done_(transfer->context_, *transfer);
  }
  finished_.clear();
}

void Device::OnBandwidthChange() {
  Progress();
  cursor_.Advance();
  bandwidth_ = cursor_.value();
  if (cursor_.next_change() != kNoDeadline) queue_.Schedule(change_, cursor_.next_change());
  SetRates();
}

}  // namespace kvstream::sim
