#include "io/transfer.h"

#include <cerrno>

#include "base/assert.h"

namespace kvstream::io {
namespace {

uint32_t StepBegin(const IoRequest& request) {
  return request.done / kTransferAlignBytes * kTransferAlignBytes;
}

bool Finish(IoRequest& request, int32_t result) {
  request.result = result;
  return true;
}

bool Retry(IoRequest& request, int32_t result_at_last) {
  if (++request.retries <= kTransferRetriesMax) return false;
  return Finish(request, result_at_last);
}

}  // namespace

void BeginTransfer(IoRequest& request) {
  KVS_ASSERT(request.bytes > 0 && request.bytes <= INT32_MAX);
  KVS_ASSERT(!request.iov.empty() && request.iov.size() <= kIovecsMax);
  request.result = 0;
  request.done = 0;
  request.retries = 0;
}

TransferStep NextStep(const IoRequest& request) {
  const uint32_t begin = StepBegin(request);
  TransferStep step;
  step.offset = request.offset + begin;
  size_t skip = begin;
  size_t index = 0;
  while (index < request.iov.size() && skip >= request.iov[index].iov_len) {
    skip -= request.iov[index++].iov_len;
  }
  KVS_ASSERT(index < request.iov.size());
  if (skip > 0) {
    const iovec& entry = request.iov[index];
    step.partial = {static_cast<std::byte*>(entry.iov_base) + skip, entry.iov_len - skip};
  } else {
    step.whole = request.iov.subspan(index);
  }
  return step;
}

bool FinishStep(IoRequest& request, int64_t result) {
  if (result == -EINTR || result == -EAGAIN) return Retry(request, static_cast<int32_t>(result));
  if (result < 0) return Finish(request, static_cast<int32_t>(result));
  const int64_t reached = StepBegin(request) + result;
  KVS_ASSERT(reached <= request.bytes);
  if (reached == request.bytes) {
    request.done = request.bytes;
    return Finish(request, static_cast<int32_t>(request.bytes));
  }
  if (reached > request.done) {
    request.done = static_cast<uint32_t>(reached);
    request.retries = 0;
    return false;
  }
  if (request.kind == IoRequest::Kind::kWrite) return Retry(request, -EIO);
  // To stop twice at the same byte is the end of the file; to stop before it is not yet.
  const auto end = static_cast<int32_t>(reached);
  return reached == request.done ? Finish(request, end) : Retry(request, end);
}

int64_t SystemTransfer(IoRequest::Kind kind, int fd, std::span<const iovec> iov, uint64_t offset) {
  const int count = static_cast<int>(iov.size());
  const off_t position = static_cast<off_t>(offset);
  const ssize_t moved = kind == IoRequest::Kind::kRead ? preadv(fd, iov.data(), count, position)
                                                       : pwritev(fd, iov.data(), count, position);
  return moved >= 0 ? moved : -errno;
}

void RunTransfer(IoRequest& request, TransferCall call) {
  int64_t moved = 0;
  do {
    const TransferStep step = NextStep(request);
    const std::span<const iovec> iov =
        step.partial.iov_len > 0 ? std::span<const iovec>(&step.partial, 1) : step.whole;
    moved = call(request.kind, request.fd, iov, step.offset);
  } while (!FinishStep(request, moved));
}

}  // namespace kvstream::io
