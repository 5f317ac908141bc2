#include "engine/event_signal.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace kvstream::engine {

Result<std::unique_ptr<EventSignal>> EventSignal::Create() {
  const int fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0) return Error(ErrorCode::kIo, "eventfd", errno);
  return std::unique_ptr<EventSignal>(new EventSignal(fd));
}

EventSignal::~EventSignal() { ::close(fd_); }

void EventSignal::Raise() {
  const uint64_t one = 1;
  // Fails only when the counter is full, and then the descriptor is readable anyway.
  static_cast<void>(!::write(fd_, &one, sizeof(one)));
}

void EventSignal::Reset() {
  uint64_t count;
  static_cast<void>(!::read(fd_, &count, sizeof(count)));  // EAGAIN: nothing was raised
}

}  // namespace kvstream::engine
