#include "testing/sim_backend.h"

#include <algorithm>
#include <cerrno>

#include "base/assert.h"
#include "io/transfer.h"

namespace kvstream::test {
namespace {

using std::chrono::nanoseconds;

nanoseconds Scaled(nanoseconds duration, double factor) {
  return nanoseconds(static_cast<int64_t>(static_cast<double>(duration.count()) * factor));
}

}  // namespace

SimBackend::SimBackend(SimFileSystem& files, SimDevice& device, const SimClock& clock,
                       const SimBackendOptions& options)
    : files_(files), device_(device), clock_(clock), options_(options) {
  KVS_ASSERT(options_.depth > 0);
}

void SimBackend::Enqueue(io::IoRequest& request) {
  KVS_ASSERT(in_flight() < options_.depth);
  io::BeginTransfer(request);
  enqueued_.push_back(&request);
}

void SimBackend::Submit() {
  for (io::IoRequest* const request : enqueued_) submitted_.push_back(Start(*request));
  enqueued_.clear();
}

SimBackend::Pending SimBackend::Start(io::IoRequest& request) {
  Pending pending;
  pending.request = &request;
  pending.file = files_.Find(request.fd);
  const bool read = request.kind == io::IoRequest::Kind::kRead;
  if (options_.faults != nullptr && pending.file != nullptr) {
    pending.fault =
        options_.faults->Next(read ? FaultOp::kRead : FaultOp::kWrite, pending.file->path);
  }
  const bool delayed = pending.fault.has_value() && pending.fault->kind == FaultKind::kDelay;
  const double factor = delayed ? pending.fault->factor : 1.0;
  KVS_ASSERT(device_.bytes_per_second > 0);
  const nanoseconds service(static_cast<int64_t>(static_cast<double>(request.bytes) * 1e9 /
                                                 static_cast<double>(device_.bytes_per_second)));
  device_.free_at = std::max(device_.free_at, clock_.Now()) + Scaled(service, factor);
  pending.due = device_.free_at + Scaled(device_.latency, factor);
  return pending;
}

TimePoint SimBackend::DueOf(const Pending& pending) const {
  const bool hangs = pending.fault.has_value() && pending.fault->kind == FaultKind::kHang &&
                     !options_.faults->Released(*pending.fault);
  return hangs ? TimePoint::max() : pending.due;
}

size_t SimBackend::Reap(std::span<io::IoRequest*> out, nanoseconds /*timeout*/) {
  Submit();
  size_t count = 0;
  while (count < out.size() && !submitted_.empty()) {
    const auto next = std::min_element(
        submitted_.begin(), submitted_.end(),
        [this](const Pending& left, const Pending& right) { return DueOf(left) < DueOf(right); });
    if (DueOf(*next) > clock_.Now()) break;
    Finish(*next);
    out[count++] = next->request;
    submitted_.erase(next);
  }
  return count;
}

void SimBackend::Finish(Pending& pending) {
  io::IoRequest& request = *pending.request;
  if (pending.file == nullptr) {
    request.result = -EBADF;
    return;
  }
  if (pending.fault.has_value() && pending.fault->kind == FaultKind::kHang) pending.fault.reset();
  request.result = static_cast<int32_t>(files_.Move(*pending.file, request, pending.fault));
}

TimePoint SimBackend::NextCompletion() const {
  TimePoint earliest = TimePoint::max();
  for (const Pending& pending : submitted_) earliest = std::min(earliest, DueOf(pending));
  return earliest;
}

}  // namespace kvstream::test
