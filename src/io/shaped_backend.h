#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kvstream/options.h"

#include "base/clock.h"
#include "io/io_backend.h"

namespace kvstream::io {

/// Limits another backend to the bandwidth and latency of a slower device, for demonstrations
/// and tests.
///
/// Reads and writes each have a server that takes requests in the order of Submit and works at
/// its limit without pause; a request comes back `latency` after its service ended, and never
/// before the wrapped backend has finished it. After idle time the server may run ahead by 2 ms
/// or 2 MiB, whichever is less, so that a late wake-up of the owner costs no bandwidth. Threads
/// as for any backend.
class ShapedBackend final : public IoBackend {
 public:
  /// `clock` outlives the backend.
  ShapedBackend(std::unique_ptr<IoBackend> inner, const ShapeOptions& shape,
                const base::Clock& clock);

  void Enqueue(IoRequest& request) override;
  void Submit() override;
  size_t Reap(std::span<IoRequest*> out, std::chrono::nanoseconds timeout) override;
  void Wake() override { inner_->Wake(); }
  size_t in_flight() const override { return unsubmitted_.size() + held_.size(); }
  size_t depth() const override { return inner_->depth(); }
  const char* name() const override { return name_.c_str(); }

 private:
  struct Server {
    uint64_t bytes_per_second = 0;  // 0: no limit
    std::chrono::nanoseconds credit{0};
    TimePoint free_at = TimePoint::min();
  };
  struct Held {
    IoRequest* request = nullptr;
    TimePoint due;
    bool finished = false;  // by the wrapped backend
  };

  static Server MakeServer(uint64_t bytes_per_second);
  TimePoint Serve(const IoRequest& request, TimePoint now);
  void MarkFinished(std::span<IoRequest* const> requests);
  size_t TakeDue(std::span<IoRequest*> out, TimePoint now);
  std::chrono::nanoseconds UntilNextDue(TimePoint now) const;

  const std::unique_ptr<IoBackend> inner_;
  const base::Clock& clock_;
  const std::chrono::nanoseconds latency_;
  const std::string name_;
  Server read_server_;
  Server write_server_;
  std::vector<IoRequest*> unsubmitted_;
  std::vector<Held> held_;  // in the order of Submit; at most depth()
};

}  // namespace kvstream::io
