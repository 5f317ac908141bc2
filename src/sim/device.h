#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kvstream/status.h"

#include "base/prng.h"
#include "sim/bandwidth_series.h"
#include "sim/event_queue.h"

namespace kvstream::sim {

/// Time before a transfer reaches the device's queue: lognormal, and for a share of the transfers
/// longer by a factor. A zero median is none.
struct LatencyModel {
  double median_s = 0;
  double sigma = 0;  ///< Of the logarithm.
  double tail_probability = 0;
  double tail_factor = 1;
};

/// A storage tier as a device file describes it. Bandwidths and capacity are those of one node, all
/// of its ranks together.
struct TierModel {
  std::string name;
  BandwidthSeries series;
  uint64_t capacity_bytes = std::numeric_limits<uint64_t>::max();
  /// f: reads and writes at the same time take (1 + f) times the sum of their times apart.
  double interference = 0;
  LatencyModel latency;
  /// One device serves all nodes; `series` is then what one node gets at most.
  bool shared = false;
  /// What a shared device delivers to all nodes together; infinite: nodes do not disturb each
  /// other.
  Bandwidth total = {.read = std::numeric_limits<double>::infinity(),
                     .write = std::numeric_limits<double>::infinity()};
};

/// kInvalidArgument, naming tier and field.
Status Validate(const TierModel& tier);

enum class Direction : uint8_t { kRead, kWrite };

/// One device on virtual time.
///
/// Each node has a lane for reads and one for writes; a lane serves its transfers in order of
/// arrival, one at a time. Alone, a lane gets the bandwidth of its direction, of a shared device at
/// most an equal part of the total among the nodes that use that direction. While both lanes of a
/// node are busy they progress at the same number of bytes per second v with
/// (1 + f) · (v / read + v / write) = 1, as a device does that takes turns between two queues; so
/// mixed work takes (1 + f) times the sum of the times apart (Fig 7). Latency passes before a
/// transfer reaches its lane and costs nobody bandwidth: enough transfers in flight hide it.
///
/// O(lanes in use) an event. Times are rounded up to a nanosecond. Not thread-safe.
class Device {
 public:
  /// A transfer lies in its owner and must not move while it is under way.
  class Transfer {
   public:
    using Done = void (*)(void* context, Transfer& transfer);
    Transfer(Done done, void* context);

    uint64_t bytes() const { return bytes_; }
    bool under_way() const { return device_ != nullptr; }

   private:
    friend class Device;
    void Arrive();

    Done done_;
    void* context_;
    Device* device_ = nullptr;
    Transfer* next_ = nullptr;
    uint64_t bytes_ = 0;
    uint32_t lane_ = 0;
    Event arrival_;
  };

  /// `tier` must be valid and outlive the device. `ranks` share it evenly and in lockstep: one is
  /// simulated and has 1 / ranks of the bandwidth. `nodes` is 1 unless the tier is shared.
  struct Options {
    uint32_t nodes = 1;
    uint32_t ranks = 1;
    uint64_t seed = 1;
  };
  Device(const TierModel& tier, const Options& options, EventQueue& queue);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// Begins a transfer of `bytes` > 0; `done` is called when it has ended, with the transfer free
  /// for the next Submit.
  void Submit(uint32_t node, Direction direction, uint64_t bytes, Transfer& transfer);

  /// Overrides the series from now on; per node, both above 0. For step logs, whose steps each have
  /// a bandwidth of their own.
  void SetBandwidth(const Bandwidth& bandwidth);

  /// What one rank gets at this moment if it has the device for itself.
  Bandwidth rank_bandwidth();
  uint64_t transfers_done() const { return transfers_done_; }

 private:
  struct Lane {
    Transfer* first = nullptr;  // in service
    Transfer* last = nullptr;
    double left = 0;  // bytes of `first`
    double rate = 0;  // bytes per second
  };

  static uint32_t LaneOf(uint32_t node, Direction direction) {
    return node * 2 + static_cast<uint32_t>(direction);
  }
  void Enqueue(Transfer& transfer);
  void CatchUp();
  void Activate(uint32_t lane);
  void Progress();
  void SetRates();
  void ScheduleNext();
  void OnServed();
  void OnBandwidthChange();
  double SampleLatency();

  const TierModel& tier_;
  EventQueue& queue_;
  double per_rank_;  // 1 / ranks
  base::Prng prng_;
  SeriesCursor cursor_;
  Bandwidth bandwidth_;  // of a node
  std::vector<Lane> lanes_;
  std::vector<uint32_t> busy_;       // lanes with a transfer, ascending
  std::vector<Transfer*> finished_;  // scratch of OnServed
  TimePoint progressed_{};
  uint64_t transfers_done_ = 0;
  Event served_;
  Event change_;
};

}  // namespace kvstream::sim
