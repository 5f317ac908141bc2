#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <span>

#include "io/io_backend.h"

namespace kvstream::io {

/// How the kernel's answers to one request add up, shared by all backends that talk to a kernel.
///
/// A short transfer continues from its last 4 KiB boundary, since O_DIRECT takes nothing else;
/// moving a few bytes twice is harmless. A read that stops at the same byte again has met the end
/// of the file.

inline constexpr uint32_t kTransferAlignBytes = 4096;
/// EINTR and EAGAIN, and writes that move nothing, in a row before the request fails.
inline constexpr uint32_t kTransferRetriesMax = 32;

/// What the next system call of a request moves: the rest of one iovec, or whole ones. Two kinds,
/// so that no copy of the iovec array has to live until the kernel has read it.
struct TransferStep {
  iovec partial{};               ///< Used if its length is not 0.
  std::span<const iovec> whole;  ///< Else these, part of the request's own array.
  uint64_t offset = 0;
};

/// Prepares `request` for its first step.
void BeginTransfer(IoRequest& request);
/// The next step; the request is not complete.
TransferStep NextStep(const IoRequest& request);
/// Accounts for `result` (bytes or a negative errno) of the last step. True when the request is
/// complete; request.result is set then.
bool FinishStep(IoRequest& request, int64_t result);

/// One preadv or pwritev: bytes or a negative errno. Tests put faults here.
using TransferCall = int64_t (*)(IoRequest::Kind kind, int fd, std::span<const iovec> iov,
                                 uint64_t offset);
/// preadv(2) or pwritev(2).
int64_t SystemTransfer(IoRequest::Kind kind, int fd, std::span<const iovec> iov, uint64_t offset);
/// Runs `request` to its end on the calling thread.
void RunTransfer(IoRequest& request, TransferCall call = &SystemTransfer);

}  // namespace kvstream::io
