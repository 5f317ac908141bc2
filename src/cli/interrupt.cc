#include "cli/interrupt.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>

namespace kvstream::cli {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "the signal handler stores to it");
std::atomic<int> interrupt_fd{-1};

// Only async-signal-safe calls. The eventfd stays readable: nobody reads it, so that every wait of
// every thread ends.
void HandleInterrupt(int) {
  const int saved_errno = errno;
  interrupted.store(true);
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(interrupt_fd.load(), &one, sizeof(one));
  errno = saved_errno;
}

void Poll(std::span<pollfd> fds, std::chrono::nanoseconds timeout) {
  timeout = std::max(timeout, std::chrono::nanoseconds{0});
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
  const timespec limit{seconds.count(), (timeout - seconds).count()};
  // A signal or an error ends the wait early; every caller looks again at what it waits for.
  ppoll(fds.data(), fds.size(), &limit, nullptr);
}

}  // namespace

Status CatchInterrupt() {
  const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0) return Error(ErrorCode::kIo, std::string("eventfd: ") + std::strerror(errno), errno);
  interrupt_fd.store(fd);
  struct sigaction action = {};
  action.sa_handler = HandleInterrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  if (sigaction(SIGINT, &action, nullptr) != 0) {
    return Error(ErrorCode::kIo, std::string("sigaction: ") + std::strerror(errno), errno);
  }
  return {};
}

bool Interrupted() { return interrupted.load(std::memory_order_relaxed); }

void SleepInterruptibly(std::chrono::nanoseconds duration) {
  const auto end = std::chrono::steady_clock::now() + duration;
  std::array<pollfd, 1> fds = {pollfd{interrupt_fd.load(), POLLIN, 0}};
  while (!Interrupted()) {
    const auto left = end - std::chrono::steady_clock::now();
    if (left <= std::chrono::nanoseconds{0}) return;
    Poll(fds, left);
  }
}

void WaitReadable(int fd, std::chrono::nanoseconds timeout) {
  std::array<pollfd, 2> fds = {pollfd{fd, POLLIN, 0}, pollfd{interrupt_fd.load(), POLLIN, 0}};
  Poll(Interrupted() ? std::span(fds).first(1) : std::span(fds), timeout);
}

}  // namespace kvstream::cli
