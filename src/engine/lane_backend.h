#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "io/io_backend.h"

namespace kvstream::engine {

/// A lane's backend, which its owner thread has to destroy while others may still want to wake it.
class LaneBackend {
 public:
  explicit LaneBackend(std::unique_ptr<io::IoBackend> backend) : backend_(std::move(backend)) {}

  io::IoBackend& get() { return *backend_; }
  const char* name() const { return backend_->name(); }

  /// Any thread; nothing after Close.
  void Wake() {
    const std::lock_guard lock(mutex_);
    if (backend_) backend_->Wake();
  }
  /// The owner thread, last.
  void Close() {
    std::unique_ptr<io::IoBackend> closing;
    const std::lock_guard lock(mutex_);
    closing = std::exchange(backend_, nullptr);
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<io::IoBackend> backend_;
};

}  // namespace kvstream::engine
