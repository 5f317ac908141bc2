#include "testing/fault_backend.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "io/transfer.h"

namespace kvstream::test {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kWaitMax = std::chrono::hours(1);  // keeps sums of times from overflowing

bool IsWrite(const io::IoRequest& request) { return request.kind == io::IoRequest::Kind::kWrite; }

// Writes the first half of what `request` names, cut to what O_DIRECT takes. Whether that works
// does not matter: the request fails anyway.
void WriteHalf(const io::IoRequest& request) {
  std::vector<iovec> half;
  const uint32_t bytes = request.bytes / 2 / io::kTransferAlignBytes * io::kTransferAlignBytes;
  uint32_t left = bytes;
  for (const iovec& entry : request.iov) {
    if (left == 0) break;
    half.push_back({entry.iov_base, std::min<size_t>(entry.iov_len, left)});
    left -= static_cast<uint32_t>(half.back().iov_len);
  }
  if (half.empty()) return;
  io::IoRequest part;
  part.kind = request.kind;
  part.fd = request.fd;
  part.offset = request.offset;
  part.iov = half;
  part.bytes = bytes;
  io::BeginTransfer(part);
  io::RunTransfer(part);
}

}  // namespace

FaultBackend::FaultBackend(std::unique_ptr<io::IoBackend> inner, FaultPlan& faults)
    : inner_(std::move(inner)), faults_(faults), name_(std::string("faulty ") + inner_->name()) {
  KVS_ASSERT(inner_->in_flight() == 0);
}

void FaultBackend::Enqueue(io::IoRequest& request) {
  KVS_ASSERT(in_flight() < depth());
  const std::optional<Fault> fault =
      faults_.Next(IsWrite(request) ? FaultOp::kWrite : FaultOp::kRead, "");
  Entry entry;
  entry.request = &request;
  if (fault.has_value()) {
    KVS_ASSERT(fault->kind != FaultKind::kTruncateFile && fault->kind != FaultKind::kFlipStored);
    entry.fault = *fault;
    entry.faulty = true;
    entry.hung = fault->kind == FaultKind::kHang;
  }
  const bool partial =
      entry.faulty && IsWrite(request) &&
      (entry.fault.kind == FaultKind::kPartialWrite || entry.fault.kind == FaultKind::kShort);
  if (partial) WriteHalf(request);
  if (partial || (entry.faulty && entry.fault.kind == FaultKind::kErrno)) {
    FailNow(entry);
  } else if (!entry.hung) {
    inner_->Enqueue(request);
  }
  entries_.push_back(entry);
}

void FaultBackend::FailNow(Entry& entry) {
  entry.request->result = -entry.fault.error;
  entry.finished = true;
}

void FaultBackend::ResumeReleased() {
  for (Entry& entry : entries_) {
    if (!entry.hung || !faults_.Released(entry.fault)) continue;
    entry.hung = false;
    inner_->Enqueue(*entry.request);
  }
}

void FaultBackend::Submit() {
  ResumeReleased();
  inner_->Submit();
}

size_t FaultBackend::Reap(std::span<io::IoRequest*> out, nanoseconds timeout) {
  const TimePoint deadline = clock_.Now() + std::min(timeout, kWaitMax);
  while (true) {
    ResumeReleased();
    const size_t taken = TakeDue(out);
    if (taken > 0) {
      inner_->Submit();
      return taken;
    }
    const nanoseconds left = deadline - clock_.Now();
    const nanoseconds wait = std::max(nanoseconds(0), std::min(left, UntilNextDue()));
    const TimePoint wait_end = clock_.Now() + wait;
    std::array<io::IoRequest*, 32> finished;
    const size_t count = inner_->Reap(finished, wait);
    for (size_t index = 0; index < count; ++index) MarkFinished(*finished[index]);
    const TimePoint now = clock_.Now();
    if (now >= deadline || (count == 0 && now < wait_end)) return TakeDue(out);
  }
}

void FaultBackend::MarkFinished(io::IoRequest& request) {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.request == &request; });
  KVS_ASSERT(found != entries_.end() && !found->finished);
  found->finished = true;
  if (found->faulty) ApplyAfter(*found);
}

void FaultBackend::ApplyAfter(Entry& entry) {
  io::IoRequest& request = *entry.request;
  if (entry.fault.kind == FaultKind::kDelay) entry.due = clock_.Now() + entry.fault.delay;
  if (request.result <= 0) return;
  if (entry.fault.kind == FaultKind::kShort) request.result /= 2;
  if (entry.fault.kind == FaultKind::kFlipRead) {
    auto* const first = static_cast<std::byte*>(request.iov.front().iov_base);
    const size_t bytes = std::min(request.iov.front().iov_len, static_cast<size_t>(request.result));
    first[entry.fault.random / 8 % bytes] ^= std::byte{1} << (entry.fault.random % 8);
  }
}

size_t FaultBackend::TakeDue(std::span<io::IoRequest*> out) {
  const TimePoint now = clock_.Now();
  size_t count = 0;
  std::erase_if(entries_, [&](const Entry& entry) {
    if (count == out.size() || !entry.finished || entry.due > now) return false;
    out[count++] = entry.request;
    return true;
  });
  return count;
}

nanoseconds FaultBackend::UntilNextDue() const {
  const TimePoint now = clock_.Now();
  nanoseconds shortest = kWaitMax;
  for (const Entry& entry : entries_) {
    if (entry.finished) shortest = std::min<nanoseconds>(shortest, std::max(entry.due, now) - now);
  }
  return shortest;
}

void FaultBackend::ReleaseHung() {
  faults_.Release();
  inner_->Wake();
}

}  // namespace kvstream::test
