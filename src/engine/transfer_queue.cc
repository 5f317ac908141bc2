#include "engine/transfer_queue.h"

#include <algorithm>
#include <array>

#include "base/assert.h"

namespace kvstream::engine {
namespace {

constexpr size_t kReapMax = 64;

}  // namespace

void Transfer::Prepare(io::IoRequest::Kind kind, int fd, uint64_t offset,
                       std::span<const std::span<std::byte>> memory, uint64_t request_bytes_max) {
  iovecs.clear();
  requests.clear();
  errno_value = 0;
  short_read = false;
  for (std::span<std::byte> piece : memory) {
    while (!piece.empty()) {
      const size_t bytes = std::min<size_t>(piece.size(), request_bytes_max);
      iovecs.push_back({piece.data(), bytes});
      piece = piece.subspan(bytes);
    }
  }
  for (size_t first = 0; first < iovecs.size();) {
    size_t count = 0;
    uint64_t bytes = 0;
    while (first + count < iovecs.size() && count < io::kIovecsMax &&
           bytes + iovecs[first + count].iov_len <= request_bytes_max) {
      bytes += iovecs[first + count++].iov_len;
    }
    KVS_ASSERT(count > 0);
    io::IoRequest& request = requests.emplace_back();
    request.kind = kind;
    request.fd = fd;
    request.offset = offset;
    request.iov = std::span(iovecs).subspan(first, count);
    request.bytes = static_cast<uint32_t>(bytes);
    request.context = this;
    offset += bytes;
    first += count;
  }
  requests_left = requests.size();
}

void TransferQueue::Start(Transfer& transfer) {
  KVS_ASSERT(transfer.requests_left > 0);
  for (io::IoRequest& request : transfer.requests) waiting_.push_back(&request);
  Pump();
}

void TransferQueue::Pump() {
  while (!waiting_.empty() && backend_.in_flight() < backend_.depth()) {
    backend_.Enqueue(*waiting_.front());
    waiting_.pop_front();
  }
}

void TransferQueue::Reap(std::chrono::nanoseconds timeout, std::vector<Transfer*>* ended) {
  std::array<io::IoRequest*, kReapMax> done;
  const size_t count = backend_.Reap(done, timeout);
  for (io::IoRequest* request : std::span(done).first(count)) {
    auto* transfer = static_cast<Transfer*>(request->context);
    KVS_ASSERT(transfer->requests_left > 0);
    if (request->result < 0) {
      if (transfer->errno_value == 0) transfer->errno_value = -request->result;
    } else if (static_cast<uint32_t>(request->result) != request->bytes) {
      transfer->short_read = true;
    }
    if (--transfer->requests_left == 0) ended->push_back(transfer);
  }
  Pump();
}

}  // namespace kvstream::engine
