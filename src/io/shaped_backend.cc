#include "io/shaped_backend.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/assert.h"

namespace kvstream::io {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kCreditMax = std::chrono::milliseconds(2);
constexpr uint64_t kCreditBytesMax = 2 * kMiB;
constexpr nanoseconds kWaitMax = std::chrono::hours(1);  // keeps sums of times from overflowing

nanoseconds ServiceTime(uint64_t bytes, uint64_t bytes_per_second) {
  return nanoseconds(static_cast<int64_t>(static_cast<double>(bytes) * 1e9 /
                                          static_cast<double>(bytes_per_second)));
}

}  // namespace

ShapedBackend::ShapedBackend(std::unique_ptr<IoBackend> inner, const ShapeOptions& shape,
                             const base::Clock& clock)
    : inner_(std::move(inner)),
      clock_(clock),
      latency_(shape.latency),
      name_(std::string("shaped ") + inner_->name()),
      read_server_(MakeServer(shape.read_bytes_per_second)),
      write_server_(MakeServer(shape.write_bytes_per_second)) {
  KVS_ASSERT(latency_ >= nanoseconds(0));
  KVS_ASSERT(inner_->in_flight() == 0);
  unsubmitted_.reserve(inner_->depth());
  held_.reserve(inner_->depth());
}

ShapedBackend::Server ShapedBackend::MakeServer(uint64_t bytes_per_second) {
  Server server;
  server.bytes_per_second = bytes_per_second;
  if (bytes_per_second > 0) {
    server.credit = std::min(kCreditMax, ServiceTime(kCreditBytesMax, bytes_per_second));
  }
  return server;
}

void ShapedBackend::Enqueue(IoRequest& request) {
  KVS_ASSERT(in_flight() < depth());
  inner_->Enqueue(request);
  unsubmitted_.push_back(&request);
}

void ShapedBackend::Submit() {
  if (unsubmitted_.empty()) return;
  const TimePoint now = clock_.Now();
  for (IoRequest* const request : unsubmitted_) {
    held_.push_back({request, Serve(*request, now), false});
  }
  unsubmitted_.clear();
  inner_->Submit();
}

// Returns when the request may come back.
TimePoint ShapedBackend::Serve(const IoRequest& request, TimePoint now) {
  Server& server = request.kind == IoRequest::Kind::kRead ? read_server_ : write_server_;
  if (server.bytes_per_second == 0) return now + latency_;
  server.free_at = std::max(server.free_at, now - server.credit) +
                   ServiceTime(request.bytes, server.bytes_per_second);
  return server.free_at + latency_;
}

size_t ShapedBackend::Reap(std::span<IoRequest*> out, nanoseconds timeout) {
  Submit();
  const TimePoint begin = clock_.Now();
  nanoseconds left = timeout;
  while (true) {
    if (const size_t count = TakeDue(out, clock_.Now()); count > 0) return count;
    const nanoseconds wait = std::max(nanoseconds(0), std::min(left, UntilNextDue(clock_.Now())));
    const TimePoint wait_end = clock_.Now() + wait;
    std::array<IoRequest*, 32> finished;
    const size_t count = inner_->Reap(finished, wait);
    MarkFinished({finished.data(), count});
    const TimePoint now = clock_.Now();
    left = timeout - (now - begin);
    // Nothing before the end of the wait is a Wake; nothing after it leaves only what is due
    // by now.
    if (left <= nanoseconds(0) || (count == 0 && now < wait_end)) return TakeDue(out, now);
  }
}

void ShapedBackend::MarkFinished(std::span<IoRequest* const> requests) {
  for (IoRequest* const request : requests) {
    const auto held = std::find_if(held_.begin(), held_.end(),
                                   [&](const Held& entry) { return entry.request == request; });
    KVS_ASSERT(held != held_.end() && !held->finished);
    held->finished = true;
  }
}

size_t ShapedBackend::TakeDue(std::span<IoRequest*> out, TimePoint now) {
  size_t count = 0;
  std::erase_if(held_, [&](const Held& entry) {
    if (count == out.size() || !entry.finished || entry.due > now) return false;
    out[count++] = entry.request;
    return true;
  });
  return count;
}

// Of what the wrapped backend has finished; what it has not finished ends the wait by itself.
nanoseconds ShapedBackend::UntilNextDue(TimePoint now) const {
  nanoseconds shortest = kWaitMax;
  for (const Held& entry : held_) {
    if (entry.finished) shortest = std::min<nanoseconds>(shortest, entry.due - now);
  }
  return shortest;
}

}  // namespace kvstream::io
