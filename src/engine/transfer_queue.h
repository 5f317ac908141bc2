#pragma once

#include <sys/uio.h>

#include <chrono>
#include <deque>
#include <span>
#include <vector>

#include "io/io_backend.h"

namespace kvstream::engine {

/// One operation's bulk transfer, cut into requests that a backend takes. Not moved while it runs.
struct Transfer {
  std::vector<iovec> iovecs;
  std::vector<io::IoRequest> requests;
  size_t requests_left = 0;
  int errno_value = 0;      ///< Of the first request that failed; 0 if none did.
  bool short_read = false;  ///< A read met the end of the file.
  void* owner = nullptr;

  /// Cuts [offset, offset + bytes of `memory`) into requests of at most `request_bytes_max`.
  void Prepare(io::IoRequest::Kind kind, int fd, uint64_t offset,
               std::span<const std::span<std::byte>> memory, uint64_t request_bytes_max);
};

/// Feeds transfers to a backend without ever exceeding its depth. One thread.
class TransferQueue {
 public:
  explicit TransferQueue(io::IoBackend& backend) : backend_(backend) {}

  /// The transfer and its memory stay put until Reap returns it.
  void Start(Transfer& transfer);
  /// Waits as IoBackend::Reap does; appends the transfers that have ended.
  void Reap(std::chrono::nanoseconds timeout, std::vector<Transfer*>* ended);

 private:
  void Pump();

  io::IoBackend& backend_;
  std::deque<io::IoRequest*> waiting_;
};

}  // namespace kvstream::engine
