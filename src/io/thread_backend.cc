#include "io/thread_backend.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fmt/format.h>

#include "base/assert.h"

namespace kvstream::io {
namespace {

constexpr uint32_t kDepthMax = 4096;
// Waits longer than this are cut; callers loop. Keeps now + timeout from overflowing.
constexpr std::chrono::nanoseconds kWaitMax = std::chrono::hours(24);

// Threads inherit the mask of their creator: signals stay with the host's own threads.
class SignalBlock {
 public:
  SignalBlock() {
    sigset_t all;
    sigfillset(&all);
    KVS_ASSERT(pthread_sigmask(SIG_SETMASK, &all, &before_) == 0);
  }
  ~SignalBlock() { KVS_ASSERT(pthread_sigmask(SIG_SETMASK, &before_, nullptr) == 0); }
  SignalBlock(const SignalBlock&) = delete;
  SignalBlock& operator=(const SignalBlock&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

Result<std::unique_ptr<ThreadBackend>> ThreadBackend::Create(const ThreadOptions& options) {
  if (options.depth == 0 || options.depth > kDepthMax || options.threads == 0) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("thread backend: depth {} is not in 1..{}, or threads {} is 0",
                             options.depth, kDepthMax, options.threads));
  }
  std::unique_ptr<ThreadBackend> backend(new ThreadBackend(options));
  KVS_TRY(backend->Start());
  return backend;
}

Status ThreadBackend::Start() {
  const uint32_t count = std::min(options_.threads, options_.depth);
  const SignalBlock block;
  try {
    threads_.reserve(count);
    for (uint32_t index = 0; index < count; ++index) threads_.emplace_back([this] { Work(); });
  } catch (const std::system_error& error) {
    return Error(ErrorCode::kNoSpace,
                 fmt::format("cannot start I/O thread {} of {}", threads_.size() + 1, count),
                 error.code().value());
  }
  return {};
}

ThreadBackend::~ThreadBackend() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  work_ready_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadBackend::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_ready_.wait(lock, [this] { return closing_ || !submitted_.empty(); });
    if (closing_) return;
    IoRequest& request = submitted_.Pop();
    lock.unlock();
    RunTransfer(request, options_.call);
    lock.lock();
    completed_.Push(request);
    owner_ready_.notify_one();
  }
}

void ThreadBackend::Enqueue(IoRequest& request) {
  KVS_ASSERT(in_flight_ < options_.depth);
  BeginTransfer(request);
  ++in_flight_;
  enqueued_.Push(request);
}

void ThreadBackend::Submit() {
  const size_t count = enqueued_.size();
  if (count == 0) return;
  {
    const std::lock_guard lock(mutex_);
    submitted_.Append(enqueued_);
  }
  for (size_t index = 0; index < std::min(count, threads_.size()); ++index)
    work_ready_.notify_one();
}

size_t ThreadBackend::Reap(std::span<IoRequest*> out, std::chrono::nanoseconds timeout) {
  Submit();
  const auto deadline = std::chrono::steady_clock::now() + std::min(timeout, kWaitMax);
  std::unique_lock lock(mutex_);
  if (timeout > std::chrono::nanoseconds(0)) {
    owner_ready_.wait_until(lock, deadline, [this] { return woken_ || !completed_.empty(); });
  }
  woken_ = false;
  size_t count = 0;
  while (count < out.size() && !completed_.empty()) out[count++] = &completed_.Pop();
  KVS_ASSERT(count <= in_flight_);
  in_flight_ -= count;
  return count;
}

void ThreadBackend::Wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  owner_ready_.notify_one();
}

}  // namespace kvstream::io
