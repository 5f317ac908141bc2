#pragma once

#include "kvstream/status.h"

namespace kvstream::engine {

/// An eventfd that is readable while events wait. Any thread.
class EventSignal {
 public:
  /// Aborts if the process has no descriptor left; Open checks for that first.
  EventSignal();
  ~EventSignal();
  EventSignal(const EventSignal&) = delete;
  EventSignal& operator=(const EventSignal&) = delete;

  void Raise();
  void Reset();
  int fd() const { return fd_; }

 private:
  int fd_;
};

}  // namespace kvstream::engine
