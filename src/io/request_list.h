#pragma once

#include <cstddef>

#include "base/assert.h"
#include "io/io_backend.h"

namespace kvstream::io {

/// First in, first out list of requests, linked through IoRequest::next; a request is in at most
/// one. Owns nothing, allocates nothing. Not thread-safe.
class RequestList {
 public:
  bool empty() const { return head_ == nullptr; }
  size_t size() const { return size_; }

  void Push(IoRequest& request) {
    KVS_ASSERT(request.next == nullptr && tail_ != &request);
    (head_ == nullptr ? head_ : tail_->next) = &request;
    tail_ = &request;
    ++size_;
  }

  /// Requires !empty().
  IoRequest& Pop() {
    KVS_ASSERT(head_ != nullptr);
    IoRequest& request = *head_;
    head_ = request.next;
    if (head_ == nullptr) tail_ = nullptr;
    request.next = nullptr;
    --size_;
    return request;
  }

  /// Moves all of `other` behind what is here.
  void Append(RequestList& other) {
    while (!other.empty()) Push(other.Pop());
  }

 private:
  IoRequest* head_ = nullptr;
  IoRequest* tail_ = nullptr;
  size_t size_ = 0;
};

}  // namespace kvstream::io
