#pragma once

#include <chrono>

#include "kvstream/status.h"

namespace kvstream::cli {

/// From now on the first SIGINT is remembered instead of ending the process; a second one ends it.
/// Call once, before any thread starts.
Status CatchInterrupt();

/// True once SIGINT has come. Any thread.
bool Interrupted();

/// Sleeps; returns early once SIGINT has come. Any thread.
void SleepInterruptibly(std::chrono::nanoseconds duration);

/// Waits until `fd` is readable, SIGINT has come, or `timeout` has passed. Any thread.
void WaitReadable(int fd, std::chrono::nanoseconds timeout);

}  // namespace kvstream::cli
