#include "io/uring_backend.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>

#include <fmt/format.h>
#include <liburing.h>

#include "base/assert.h"
#include "io/transfer.h"

namespace kvstream::io {
namespace {

using std::chrono::nanoseconds;

constexpr uint32_t kDepthMax = 4096;
constexpr unsigned kRequiredFeatures =
    IORING_FEAT_NODROP | IORING_FEAT_SUBMIT_STABLE | IORING_FEAT_EXT_ARG;
// A submission refused for want of memory is tried again this long, unless the kernel still owes
// completions, which then decide.
constexpr nanoseconds kStallDelay = std::chrono::milliseconds(1);
constexpr uint32_t kStallsMax = 5000;
constexpr nanoseconds kBrokenDelay = std::chrono::milliseconds(10);

// From the best to the plainest: DEFER_TASKRUN needs Linux 6.1, SINGLE_ISSUER 6.0, SUBMIT_ALL 5.18.
// All start disabled, so that the thread that enables the ring becomes its single issuer.
constexpr std::array kSetupFlags = {
    IORING_SETUP_R_DISABLED | IORING_SETUP_CLAMP | IORING_SETUP_SUBMIT_ALL |
        IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
    IORING_SETUP_R_DISABLED | IORING_SETUP_CLAMP | IORING_SETUP_SUBMIT_ALL |
        IORING_SETUP_SINGLE_ISSUER,
    IORING_SETUP_R_DISABLED | IORING_SETUP_CLAMP,
};

Error SetupError(int error) {
  switch (error) {
    case ENOSYS:
      return Error(ErrorCode::kUnsupported,
                   "cannot create an io_uring (likely cause: kernel built without it, or a seccomp "
                   "filter)",
                   error);
    case EPERM:
    case EACCES:
      return Error(ErrorCode::kUnsupported,
                   "cannot create an io_uring (likely cause: sysctl kernel.io_uring_disabled, or a "
                   "container's seccomp profile)",
                   error);
    case ENOMEM:
      return Error(ErrorCode::kNoSpace,
                   "cannot create an io_uring (likely cause: RLIMIT_MEMLOCK, see ulimit -l)",
                   error);
    case EINVAL:
      return Error(ErrorCode::kUnsupported,
                   "cannot create an io_uring (likely cause: a kernel before 5.11)", error);
    default:
      return Error(ErrorCode::kIo, "cannot create an io_uring", error);
  }
}

/// Orders the unmapping of one ring before the mapping of the next: liburing maps rings by raw
/// system calls, so a thread sanitizer takes a new ring at an old address for the old one.
std::mutex& MappingMutex() {
  static std::mutex mutex;
  return mutex;
}

Status SetUp(uint32_t entries, io_uring* ring) {
  const std::lock_guard lock(MappingMutex());
  int result = -EINVAL;
  for (const unsigned flags : kSetupFlags) {
    io_uring_params params{};
    params.flags = flags;
    result = io_uring_queue_init_params(entries, ring, &params);
    if (result != -EINVAL) break;
  }
  if (result < 0) return SetupError(-result);
  return {};
}

// io_uring_enable_rings, which the shared library of liburing 2.3 forgets to export.
int EnableRing(const io_uring& ring) {
  const long result =
      syscall(SYS_io_uring_register, ring.ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr, 0);
  return result < 0 ? -errno : 0;
}

// Errors of io_uring_enter that go away when completions are reaped or memory becomes free.
bool IsTransient(int error) { return error == -EAGAIN || error == -EBUSY || error == -ENOMEM; }

__kernel_timespec ToTimespec(nanoseconds duration) {
  constexpr nanoseconds kLongest = std::chrono::hours(24);  // callers loop
  const nanoseconds clamped = std::clamp(duration, nanoseconds(0), kLongest);
  __kernel_timespec spec{};
  spec.tv_sec = clamped / std::chrono::seconds(1);
  spec.tv_nsec = (clamped % std::chrono::seconds(1)).count();
  return spec;
}

}  // namespace

void UringBackend::RingDeleter::operator()(io_uring* ring) const {
  {
    const std::lock_guard lock(MappingMutex());
    io_uring_queue_exit(ring);
  }
  delete ring;
}

Result<std::unique_ptr<UringBackend>> UringBackend::Create(const UringOptions& options) {
  if (options.depth == 0 || options.depth > kDepthMax) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("io_uring depth {} is not in 1..{}", options.depth, kDepthMax));
  }
  // One entry more for the standing read of the eventfd.
  const uint32_t entries = options.depth + 1;
  auto blank = std::make_unique<io_uring>();
  KVS_TRY(SetUp(entries, blank.get()));
  std::unique_ptr<io_uring, RingDeleter> ring(blank.release());
  // Completions have twice as many entries as submissions, so they cannot overflow.
  if (ring->sq.ring_entries < entries ||
      (ring->features & kRequiredFeatures) != kRequiredFeatures) {
    return Error(
        ErrorCode::kUnsupported,
        fmt::format("the kernel's io_uring is too old or too small (features {:#x}, {} entries)",
                    ring->features, ring->sq.ring_entries));
  }
  if (const int result = io_uring_ring_dontfork(ring.get()); result < 0) {
    return Error(ErrorCode::kIo, "cannot keep an io_uring from forked children", -result);
  }
  // Blocking on purpose: a non-blocking eventfd would make the standing read fail with EAGAIN.
  const int event_fd = eventfd(0, EFD_CLOEXEC);
  if (event_fd < 0) return Error(ErrorCode::kIo, "cannot create an eventfd", errno);
  return std::unique_ptr<UringBackend>(new UringBackend(options, std::move(ring), event_fd));
}

UringBackend::UringBackend(const UringOptions& options, std::unique_ptr<io_uring, RingDeleter> ring,
                           int event_fd)
    : options_(options), ring_(std::move(ring)), event_fd_(event_fd) {}

// Closing a ring does not stop what is in flight, and a late transfer would hit memory that the
// caller has reused by then. So everything is reaped first, the standing read included.
UringBackend::~UringBackend() {
  KVS_ASSERT(owner_ == std::thread::id() || owner_ == std::this_thread::get_id());
  Break(-ECANCELED);
  if (wake_armed_) Wake();
  while (in_kernel_ > 0) {
    Enter(std::chrono::seconds(1));
    Harvest();
  }
  KVS_ASSERT(close(event_fd_) == 0 || errno == EINTR);
}

void UringBackend::BindToThisThread() {
  if (owner_ != std::thread::id()) {
    KVS_DASSERT(owner_ == std::this_thread::get_id());
    return;
  }
  owner_ = std::this_thread::get_id();
  if (const int result = EnableRing(*ring_); result < 0) {
    Break(result);
    return;
  }
  // Refused before Linux 5.15; the kernel's own limits hold then.
  std::array<unsigned, 2> workers = {options_.workers_max, options_.workers_max};
  static_cast<void>(io_uring_register_iowq_max_workers(ring_.get(), workers.data()));
  PrepareWake();
}

// There is always a free entry: at most depth requests and one standing read hold one each.
io_uring_sqe* UringBackend::TakeSqe(IoRequest& request) {
  io_uring_sqe* const sqe = io_uring_get_sqe(ring_.get());
  KVS_ASSERT(sqe != nullptr);
  prepared_.Push(request);
  return sqe;
}

void UringBackend::Prepare(IoRequest& request) {
  const TransferStep step = NextStep(request);
  io_uring_sqe* const sqe = TakeSqe(request);
  const bool read = request.kind == IoRequest::Kind::kRead;
  if (step.partial.iov_len > 0) {
    const auto bytes = static_cast<unsigned>(step.partial.iov_len);
    if (read) {
      io_uring_prep_read(sqe, request.fd, step.partial.iov_base, bytes, step.offset);
    } else {
      io_uring_prep_write(sqe, request.fd, step.partial.iov_base, bytes, step.offset);
    }
  } else {
    const auto count = static_cast<unsigned>(step.whole.size());
    if (read) {
      io_uring_prep_readv(sqe, request.fd, step.whole.data(), count, step.offset);
    } else {
      io_uring_prep_writev(sqe, request.fd, step.whole.data(), count, step.offset);
    }
  }
  // What came back with EAGAIN could not be done without blocking; a kernel worker may block.
  if (options_.async || request.retries > 0) io_uring_sqe_set_flags(sqe, IOSQE_ASYNC);
  io_uring_sqe_set_data(sqe, &request);
}

void UringBackend::PrepareWake() {
  io_uring_sqe* const sqe = TakeSqe(wake_);
  io_uring_prep_read(sqe, event_fd_, &wake_count_, sizeof(wake_count_), 0);
  io_uring_sqe_set_data(sqe, &wake_);
}

void UringBackend::Enqueue(IoRequest& request) {
  KVS_ASSERT(in_flight_ < options_.depth);
  BindToThisThread();
  BeginTransfer(request);
  ++in_flight_;
  if (broken_ != 0) {
    request.result = broken_;
    completed_.Push(request);
    return;
  }
  Prepare(request);
}

void UringBackend::Submit() {
  BindToThisThread();
  // Without SUBMIT_ALL the kernel stops at the first entry it refuses: one call may not take all.
  while (!prepared_.empty() && Enter(nanoseconds(0))) continue;
}

size_t UringBackend::Reap(std::span<IoRequest*> out, nanoseconds timeout) {
  BindToThisThread();
  const auto begin = std::chrono::steady_clock::now();
  nanoseconds left = timeout;
  Harvest();
  do {
    const bool wait = completed_.empty() && !woken_;
    Enter(wait ? left : nanoseconds(0));
    Harvest();
    left = timeout - (std::chrono::steady_clock::now() - begin);
  } while (completed_.empty() && !woken_ && left > nanoseconds(0));
  woken_ = false;
  if (!prepared_.empty()) Submit();  // the rest of short transfers
  size_t count = 0;
  while (count < out.size() && !completed_.empty()) out[count++] = &completed_.Pop();
  KVS_ASSERT(count <= in_flight_);
  in_flight_ -= count;
  return count;
}

void UringBackend::Wake() {
  const uint64_t one = 1;
  ssize_t written = 0;
  do {
    written = write(event_fd_, &one, sizeof(one));
  } while (written < 0 && errno == EINTR);
  KVS_ASSERT(written == sizeof(one));
}

// Submits what is prepared and waits up to `wait` for a completion. True if the kernel took some.
bool UringBackend::Enter(nanoseconds wait) {
  const size_t before = prepared_.size();
  const int result = EnterKernel(wait);
  CountConsumed();
  const bool progress = prepared_.size() < before;
  if (progress) stalls_ = 0;
  if (result >= 0 || result == -ETIME || result == -EINTR) return progress;
  if (IsTransient(result)) {
    HandleStall(result, wait);
  } else {
    Break(result);
  }
  return progress;
}

int UringBackend::EnterKernel(nanoseconds wait) {
  __kernel_timespec timespec = ToTimespec(wait);
  io_uring_cqe* cqe = nullptr;
  if (broken_ != 0) return WaitBroken(wait);
  if (wait <= nanoseconds(0)) return io_uring_submit_and_get_events(ring_.get());
  return io_uring_submit_and_wait_timeout(ring_.get(), &cqe, 1, &timespec, nullptr);
}

// A broken ring still owes completions, but what it refused must never start: it is entered only to
// wait. Once its standing read is gone it cannot watch the eventfd, so both are looked at in turn.
int UringBackend::WaitBroken(nanoseconds wait) {
  if (wake_armed_) {
    __kernel_timespec timespec = ToTimespec(wait);
    io_uring_cqe* cqe = nullptr;
    return io_uring_wait_cqe_timeout(ring_.get(), &cqe, &timespec);
  }
  pollfd entry{event_fd_, POLLIN, 0};
  const auto wait_ms = std::chrono::ceil<std::chrono::milliseconds>(std::min(wait, kBrokenDelay));
  if (poll(&entry, 1, static_cast<int>(std::max<int64_t>(wait_ms.count(), 0))) > 0) {
    woken_ = read(event_fd_, &wake_count_, sizeof(wake_count_)) == sizeof(wake_count_);
  }
  return io_uring_get_events(ring_.get());
}

// The ring's own counters are the truth; return values mix submitting with waiting.
void UringBackend::CountConsumed() {
  if (broken_ != 0) return;
  const size_t left = io_uring_sq_ready(ring_.get());
  while (prepared_.size() > left) {
    if (&prepared_.Pop() == &wake_) wake_armed_ = true;
    ++in_kernel_;
  }
}

void UringBackend::HandleStall(int error, nanoseconds wait) {
  if (broken_ != 0 || wait <= nanoseconds(0)) return;
  if (++stalls_ > kStallsMax && in_kernel_ <= 1) {
    Break(error);
    return;
  }
  __kernel_timespec timespec = ToTimespec(std::min(wait, kStallDelay));
  io_uring_cqe* cqe = nullptr;
  const int result = io_uring_wait_cqe_timeout(ring_.get(), &cqe, &timespec);
  if (result < 0 && result != -ETIME && result != -EINTR && !IsTransient(result)) Break(result);
}

void UringBackend::Harvest() {
  std::array<io_uring_cqe*, 32> cqes;
  while (const unsigned count = io_uring_peek_batch_cqe(ring_.get(), cqes.data(), cqes.size())) {
    for (unsigned index = 0; index < count; ++index) {
      auto* const request = static_cast<IoRequest*>(io_uring_cqe_get_data(cqes[index]));
      Complete(*request, cqes[index]->res);
    }
    io_uring_cq_advance(ring_.get(), count);
  }
}

void UringBackend::Complete(IoRequest& request, int32_t result) {
  KVS_ASSERT(in_kernel_ > 0);
  --in_kernel_;
  if (&request == &wake_) {
    CompleteWake(result);
    return;
  }
  if (FinishStep(request, result)) {
    completed_.Push(request);
  } else if (broken_ != 0) {
    request.result = broken_;
    completed_.Push(request);
  } else {
    Prepare(request);
  }
}

void UringBackend::CompleteWake(int32_t result) {
  wake_armed_ = false;
  woken_ = true;
  if (broken_ != 0) return;
  if (result == sizeof(wake_count_) || result == -EINTR || result == -EAGAIN) {
    PrepareWake();
  } else {
    Break(result < 0 ? result : -EIO);
  }
}

// From here on nothing is submitted: entries that the kernel has not consumed stay in the ring,
// which is entered only to wait, and their requests fail.
void UringBackend::Break(int error) {
  KVS_ASSERT(error < 0);
  if (broken_ != 0) return;
  broken_ = error;
  while (!prepared_.empty()) {
    IoRequest& request = prepared_.Pop();
    if (&request == &wake_) continue;
    request.result = error;
    completed_.Push(request);
  }
}

}  // namespace kvstream::io
