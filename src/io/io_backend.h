#pragma once

#include <sys/uio.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace kvstream::io {

/// One read or write of a file. Owned by the caller and not moved, together with the iovec array
/// and the memory it names, from Enqueue until Reap hands it back.
struct IoRequest {
  enum class Kind : uint8_t { kRead, kWrite };

  Kind kind = Kind::kRead;
  int fd = -1;
  uint64_t offset = 0;
  std::span<const iovec> iov;  ///< At most kIovecsMax entries.
  uint32_t bytes = 0;          ///< Sum of the iovec lengths.
  /// Set by Reap: bytes moved, or a negative errno. Fewer than `bytes` only where a read met the
  /// end of the file; short transfers, EINTR and EAGAIN are resubmitted by the backend.
  int32_t result = 0;
  void* context = nullptr;  ///< The caller's; never touched.

  // The backend's, while it owns the request.
  IoRequest* next = nullptr;
  uint32_t done = 0;
  uint32_t retries = 0;
};

inline constexpr size_t kIovecsMax = 64;

/// The seam for data transfer: production rings, thread pools, fault injection, virtual time. One
/// thread owns a backend and calls everything but Wake, which any thread may call. The destructor
/// blocks until nothing is in flight, for as long as a hung file system likes, and hands nothing
/// back; who cannot wait leaks the backend together with the memory its requests name.
class IoBackend {
 public:
  virtual ~IoBackend() = default;

  /// Takes the request; it may start at once or at the next Submit. Requires in_flight() < depth().
  virtual void Enqueue(IoRequest& request) = 0;
  /// Starts everything enqueued. May block on file systems that issue I/O synchronously.
  virtual void Submit() = 0;
  /// Submits, then returns completed requests, at most out.size(). Waits for the first one until
  /// `timeout` has passed or Wake was called; returns 0 then. A timeout of 0 only looks.
  virtual size_t Reap(std::span<IoRequest*> out, std::chrono::nanoseconds timeout) = 0;
  /// Makes a present or the next Reap return without waiting.
  virtual void Wake() = 0;

  /// Requests enqueued and not yet reaped.
  virtual size_t in_flight() const = 0;
  virtual size_t depth() const = 0;
  /// For statistics: "io_uring", "threads" …
  virtual const char* name() const = 0;
};

}  // namespace kvstream::io
