#include "cli/raw_readers.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include <fmt/core.h>

#include "kvstream/buffer.h"

#include "base/assert.h"
#include "base/clock.h"
#include "cli/interrupt.h"
#include "io/posix_file_system.h"
#include "io/probe.h"

namespace kvstream::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr size_t kFilesMax = 256;
constexpr std::chrono::milliseconds kReapInterval{100};

Error IoError(const std::string& what, const fs::path& path, int error) {
  return {ErrorCode::kIo, fmt::format("{} {}: {}", what, path.string(), std::strerror(error)),
          error};
}

// What the readers of one run share.
class Target {
 public:
  Target(std::span<const uint64_t> bytes_by_holders, size_t tiers)
      : inside_(BytesHeldOnlyInside(bytes_by_holders)), delivered_(tiers) {}

  void Add(size_t tier, uint64_t bytes) { delivered_[tier].fetch_add(bytes); }

  // True once nobody needs to read on.
  bool Reached() {
    if (stop_.load(std::memory_order_relaxed)) return true;
    for (size_t set = 1; set < inside_.size(); ++set) {
      if (Delivered(set) < inside_[set]) return Interrupted();
    }
    stop_.store(true);
    return true;
  }

  void Fail(Error error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_.emplace(std::move(error));
    stop_.store(true);
  }

  // After all readers have ended.
  std::optional<Error> TakeError() { return std::move(error_); }

 private:
  uint64_t Delivered(size_t set) const {
    uint64_t sum = 0;
    for (size_t tier = 0; tier < delivered_.size(); ++tier) {
      if ((set >> tier & 1) != 0) sum += delivered_[tier].load();
    }
    return sum;
  }

  const std::vector<uint64_t> inside_;
  std::vector<std::atomic<uint64_t>> delivered_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::optional<Error> error_;
};

// One tier's files, open, as an endless sequence of whole blocks.
class BlockSequence {
 public:
  BlockSequence() = default;
  BlockSequence(const BlockSequence&) = delete;
  BlockSequence& operator=(const BlockSequence&) = delete;
  ~BlockSequence() {
    for (const File& file : files_) files_system_.Close(file.fd);
  }

  Status Open(std::span<const fs::path> paths, uint32_t block_bytes) {
    block_bytes_ = block_bytes;
    for (const fs::path& path : paths) {
      int fd = files_system_.Open(path.string(), O_RDONLY | O_DIRECT);
      if (fd == -EINVAL) fd = files_system_.Open(path.string(), O_RDONLY);
      if (fd == -ENOENT) continue;  // evicted since it was listed
      if (fd < 0) return IoError("open", path, -fd);
      files_.push_back({fd, 0});
      io::FileInfo info;
      if (const int result = files_system_.StatFd(fd, &info); result < 0) {
        return IoError("stat", path, -result);
      }
      files_.back().blocks = info.bytes / block_bytes;
      blocks_ += files_.back().blocks;
    }
    if (blocks_ == 0) return Error(ErrorCode::kNotFound, "no file has a whole block to read");
    return {};
  }

  void Next(io::IoRequest* request) {
    while (block_ >= files_[file_].blocks) {
      file_ = (file_ + 1) % files_.size();
      block_ = 0;
    }
    request->fd = files_[file_].fd;
    request->offset = block_++ * block_bytes_;
  }

 private:
  struct File {
    int fd;
    uint64_t blocks;
  };

  io::PosixFileSystem files_system_;
  std::vector<File> files_;
  uint64_t blocks_ = 0;
  uint32_t block_bytes_ = 0;
  size_t file_ = 0;
  uint64_t block_ = 0;
};

// One tier's reader. Prepare, Run and destruction all happen on its thread: a ring has one owner.
class Reader {
 public:
  Reader(const RawTier& tier, const RawReadOptions& options) : tier_(tier), options_(options) {}

  Status Prepare() {
    KVS_TRY(blocks_.Open(tier_.files, options_.block_bytes));
    KVS_TRY_ASSIGN(memory_, Buffer::Allocate(size_t{options_.depth} * options_.block_bytes));
    const io::BackendOptions backend{.kind = tier_.backend,
                                     .depth = options_.depth,
                                     .threads = options_.depth,
                                     .shape = tier_.shape};
    KVS_TRY_ASSIGN(backend_, io::MakeBackend(backend, clock_));
    requests_.resize(options_.depth);
    vectors_.resize(options_.depth);
    for (size_t slot = 0; slot < requests_.size(); ++slot) {
      vectors_[slot] = {memory_.data() + slot * options_.block_bytes, options_.block_bytes};
      requests_[slot].iov = {&vectors_[slot], 1};
      requests_[slot].bytes = options_.block_bytes;
    }
    return {};
  }

  // Until the target is reached and nothing is in flight.
  Status Run(size_t tier, Clock::time_point begin, Target* target, DeliveryCurve* curve) {
    for (io::IoRequest& request : requests_) Start(&request);
    backend_->Submit();
    Status status;
    while (backend_->in_flight() > 0) {
      std::array<io::IoRequest*, 64> done{};
      const size_t count = backend_->Reap(done, kReapInterval);
      const double now_s = std::chrono::duration<double>(Clock::now() - begin).count();
      for (io::IoRequest* request : std::span(done).first(count)) {
        if (request->result == static_cast<int32_t>(options_.block_bytes)) {
          curve->Add(now_s, options_.block_bytes);
          target->Add(tier, options_.block_bytes);
        } else if (status) {
          status =
              IoError("raw read on tier", tier_.name, request->result < 0 ? -request->result : EIO);
          target->Fail(status.error().Clone());
        }
        if (!target->Reached()) Start(request);
      }
    }
    return status;
  }

 private:
  void Start(io::IoRequest* request) {
    blocks_.Next(request);
    backend_->Enqueue(*request);
  }

  const RawTier& tier_;
  const RawReadOptions& options_;
  const base::SteadyClock clock_;
  BlockSequence blocks_;
  Buffer memory_;
  std::vector<iovec> vectors_;
  std::vector<io::IoRequest> requests_;
  std::unique_ptr<io::IoBackend> backend_;
};

}  // namespace

Result<std::vector<fs::path>> FindChunkFiles(const fs::path& directory, uint64_t bytes_min) {
  std::vector<fs::path> files;
  std::error_code error;
  auto entry = fs::recursive_directory_iterator(directory, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code gone;  // a file may go while we look; then it is no file to read
    if (entry->path().extension() != ".kv" || !entry->is_regular_file(gone)) continue;
    const uint64_t bytes = entry->file_size(gone);
    if (!gone && bytes >= bytes_min) files.push_back(entry->path());
  }
  if (error) return IoError("list", directory, error.value());
  if (files.empty()) {
    return Error(ErrorCode::kNotFound, fmt::format("no chunk file in {}", directory.string()));
  }
  std::sort(files.begin(), files.end());
  files.resize(std::min(files.size(), kFilesMax));
  return files;
}

Result<std::vector<DeliveryCurve>> ReadRaw(std::span<const RawTier> tiers,
                                           std::span<const uint64_t> bytes_by_holders,
                                           const RawReadOptions& options) {
  KVS_ASSERT(bytes_by_holders.size() == size_t{1} << tiers.size());
  Target target(bytes_by_holders, tiers.size());
  std::vector<DeliveryCurve> curves(tiers.size());
  std::latch prepared(static_cast<std::ptrdiff_t>(tiers.size()));
  std::latch go(1);
  Clock::time_point begin;
  std::vector<std::thread> threads;
  for (size_t tier = 0; tier < tiers.size(); ++tier) {
    threads.emplace_back([&, tier] {
      Reader reader(tiers[tier], options);
      Status status = reader.Prepare();
      if (!status) target.Fail(std::move(status).error().WithContext("tier " + tiers[tier].name));
      prepared.count_down();
      go.wait();
      if (status) status = reader.Run(tier, begin, &target, &curves[tier]);
    });
  }
  prepared.wait();
  begin = Clock::now();
  go.count_down();
  for (std::thread& thread : threads) thread.join();
  if (auto error = target.TakeError()) return std::move(*error);
  return curves;
}

}  // namespace kvstream::cli
