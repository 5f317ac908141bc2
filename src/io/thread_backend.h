#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "kvstream/status.h"

#include "io/io_backend.h"
#include "io/request_list.h"
#include "io/transfer.h"

namespace kvstream::io {

struct ThreadOptions {
  uint32_t depth = 64;   ///< Requests in flight, 1 to 4096.
  uint32_t threads = 8;  ///< Requests the kernel sees at once; no more than depth start.
  TransferCall call = &SystemTransfer;
};

/// IoBackend over a pool of threads that call preadv and pwritev: where io_uring is refused, and
/// for file systems that would block its submission. Requests start in the order of Enqueue.
///
/// Any thread may create and own it. Its threads block all signals. The destructor drops what no
/// thread has begun and blocks until every call has returned.
class ThreadBackend final : public IoBackend {
 public:
  /// kInvalidArgument, kNoSpace if the system refuses a thread.
  static Result<std::unique_ptr<ThreadBackend>> Create(const ThreadOptions& options);
  ~ThreadBackend() override;

  void Enqueue(IoRequest& request) override;
  void Submit() override;
  size_t Reap(std::span<IoRequest*> out, std::chrono::nanoseconds timeout) override;
  void Wake() override;
  size_t in_flight() const override { return in_flight_; }
  size_t depth() const override { return options_.depth; }
  const char* name() const override { return "threads"; }

 private:
  explicit ThreadBackend(const ThreadOptions& options) : options_(options) {}

  Status Start();
  void Work();

  const ThreadOptions options_;
  RequestList enqueued_;  // the owner's, until Submit
  size_t in_flight_ = 0;  // the owner's

  std::mutex mutex_;
  std::condition_variable work_ready_;
  std::condition_variable owner_ready_;
  RequestList submitted_;  // under mutex_, as all below
  RequestList completed_;
  bool woken_ = false;
  bool closing_ = false;

  std::vector<std::thread> threads_;
};

}  // namespace kvstream::io
