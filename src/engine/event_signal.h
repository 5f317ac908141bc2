#pragma once

#include <memory>

#include "kvstream/status.h"

namespace kvstream::engine {

/// An eventfd that is readable while events wait. Any thread.
class EventSignal {
 public:
  /// kIo if the process has no descriptor left.
  static Result<std::unique_ptr<EventSignal>> Create();
  ~EventSignal();
  EventSignal(const EventSignal&) = delete;
  EventSignal& operator=(const EventSignal&) = delete;

  void Raise();
  void Reset();
  int fd() const { return fd_; }

 private:
  explicit EventSignal(int fd) : fd_(fd) {}

  const int fd_;
};

}  // namespace kvstream::engine
