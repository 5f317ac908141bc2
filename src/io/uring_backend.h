#pragma once

#include <sys/uio.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

#include "kvstream/status.h"

#include "io/io_backend.h"
#include "io/request_list.h"

struct io_uring;
struct io_uring_sqe;

namespace kvstream::io {

struct UringOptions {
  uint32_t depth = 64;  ///< Requests in flight, 1 to 4096.
  /// Lets kernel workers issue every request: for file systems whose submission blocks.
  bool async = false;
  /// Upper limit of the kernel workers of each kind (Linux 5.15 and later).
  uint32_t workers_max = 16;
};

/// IoBackend over one io_uring. Needs Linux 5.11.
///
/// Any thread may create it. The first thread that calls Enqueue, Submit or Reap is the owner
/// from then on, and has to destroy it too: the kernel lets no other thread enter the ring. The
/// destructor drops what was never submitted and blocks until the kernel has let go of
/// everything else.
///
/// If the kernel refuses the ring for good, every request completes with that errno; nothing
/// is lost.
class UringBackend final : public IoBackend {
 public:
  /// kUnsupported (no io_uring, or a feature missing), kIo, kNoSpace (memory limits); the message
  /// names the likely cause.
  static Result<std::unique_ptr<UringBackend>> Create(const UringOptions& options);
  ~UringBackend() override;

  void Enqueue(IoRequest& request) override;
  void Submit() override;
  size_t Reap(std::span<IoRequest*> out, std::chrono::nanoseconds timeout) override;
  void Wake() override;
  size_t in_flight() const override { return in_flight_; }
  size_t depth() const override { return options_.depth; }
  const char* name() const override { return options_.async ? "io_uring (async)" : "io_uring"; }

 private:
  struct RingDeleter {
    void operator()(io_uring* ring) const;
  };

  UringBackend(const UringOptions& options, std::unique_ptr<io_uring, RingDeleter> ring,
               int event_fd);

  void BindToThisThread();
  void Prepare(IoRequest& request);
  void PrepareWake();
  io_uring_sqe* TakeSqe(IoRequest& request);
  bool Enter(std::chrono::nanoseconds wait);
  int EnterKernel(std::chrono::nanoseconds wait);
  int WaitBroken(std::chrono::nanoseconds wait);
  void CountConsumed();
  void HandleStall(int error, std::chrono::nanoseconds wait);
  void Harvest();
  void Complete(IoRequest& request, int32_t result);
  void CompleteWake(int32_t result);
  void Break(int error);

  const UringOptions options_;
  const std::unique_ptr<io_uring, RingDeleter> ring_;
  const int event_fd_;

  RequestList prepared_;   // in submission entries that the kernel has not consumed, in ring order
  RequestList completed_;  // for the next Reap
  size_t in_kernel_ = 0;   // consumed, completion not seen; wake_ included
  size_t in_flight_ = 0;   // enqueued, not reaped
  IoRequest wake_;         // the standing read of event_fd_
  uint64_t wake_count_ = 0;
  std::thread::id owner_;    // no thread: not bound yet
  bool wake_armed_ = false;  // the kernel has wake_
  bool woken_ = false;
  uint32_t stalls_ = 0;  // refused submissions in a row
  int broken_ = 0;       // the negative errno that every further request gets
};

}  // namespace kvstream::io
