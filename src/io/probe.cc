#include "io/probe.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "base/assert.h"
#include "io/block_pool.h"
#include "io/shaped_backend.h"
#include "io/thread_backend.h"
#ifdef KVS_WITH_URING
#include "io/uring_backend.h"
#endif

namespace kvstream::io {
namespace {

constexpr size_t kProbeBytes = size_t{64} << 10;

Result<std::unique_ptr<IoBackend>> MakeUring(uint32_t depth) {
#ifdef KVS_WITH_URING
  UringOptions options;
  options.depth = depth;
  KVS_TRY_ASSIGN(std::unique_ptr<IoBackend> backend, UringBackend::Create(options));
  return backend;
#else
  static_cast<void>(depth);
  return Error(ErrorCode::kUnsupported, "this build has no io_uring");
#endif
}

Result<std::unique_ptr<IoBackend>> MakeThreads(const BackendOptions& options) {
  ThreadOptions thread_options;
  thread_options.depth = options.depth;
  thread_options.threads = options.threads;
  KVS_TRY_ASSIGN(std::unique_ptr<IoBackend> backend, ThreadBackend::Create(thread_options));
  return backend;
}

bool IsShaped(const ShapeOptions& shape) {
  return shape.read_bytes_per_second > 0 || shape.write_bytes_per_second > 0 ||
         shape.latency > std::chrono::nanoseconds(0);
}

Error TransferError(const char* what, const std::string& path, int error) {
  const ErrorCode code = error == ENOSPC || error == EDQUOT ? ErrorCode::kNoSpace
                         : error == ENOENT                  ? ErrorCode::kNotFound
                                                            : ErrorCode::kIo;
  return Error(code, fmt::format("{} {}", what, path), error);
}

// Blocks until the backend has finished the request. Returns its result.
int32_t Transfer(IoBackend& backend, IoRequest& request) {
  backend.Enqueue(request);
  backend.Submit();
  IoRequest* finished = nullptr;
  while (backend.Reap({&finished, 1}, std::chrono::seconds(1)) == 0) continue;
  KVS_ASSERT(finished == &request);
  return request.result;
}

// One file, gone again when this goes.
class TemporaryFile {
 public:
  TemporaryFile(FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}
  // Nothing is left to tell about a probe's file: whoever sweeps temporary names meets it again.
  ~TemporaryFile() {
    if (fd_ < 0) return;
    static_cast<void>(files_.Close(fd_));
    static_cast<void>(files_.Unlink(path_));
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  int Open(bool direct) {
    fd_ = files_.Open(path_, O_RDWR | O_CREAT | O_EXCL | (direct ? O_DIRECT : 0));
    // open(2) may create the file and then refuse O_DIRECT.
    if (fd_ == -EINVAL) static_cast<void>(files_.Unlink(path_));
    return fd_;
  }
  const std::string& path() const { return path_; }

 private:
  FileSystem& files_;
  const std::string path_;
  int fd_ = -1;
};

class Prober {
 public:
  Prober(FileSystem& files, const ProbeOptions& options, const BackendFactory& make,
         BlockPool& pool)
      : files_(files),
        path_(options.directory + "/" + options.temporary_name),
        make_(make),
        pool_(pool) {}

  // Direct if the directory takes it, else buffered. Tells which.
  Result<bool> Try(BackendKind kind) {
    Status direct = TryOnce(kind, true);
    if (direct) return true;
    if (direct.error().errno_value() != EINVAL) return std::move(direct).error();
    KVS_TRY(TryOnce(kind, false));
    return false;
  }

 private:
  Status TryOnce(BackendKind kind, bool direct) {
    KVS_TRY_ASSIGN(const std::unique_ptr<IoBackend> backend, make_(kind));
    TemporaryFile file(files_, path_);
    const int fd = file.Open(direct);
    if (fd < 0) return TransferError("open", path_, -fd);
    std::byte* const block = pool_.TryTake();
    KVS_ASSERT(block != nullptr);
    Status status = WriteAndRead(*backend, fd, {block, kProbeBytes});
    pool_.Give(block);
    return status;
  }

  Status WriteAndRead(IoBackend& backend, int fd, std::span<std::byte> data) {
    for (size_t at = 0; at < data.size(); ++at) data[at] = Pattern(at);
    KVS_TRY(Move(backend, IoRequest::Kind::kWrite, fd, data));
    std::fill(data.begin(), data.end(), std::byte{0});
    KVS_TRY(Move(backend, IoRequest::Kind::kRead, fd, data));
    for (size_t at = 0; at < data.size(); ++at) {
      if (data[at] != Pattern(at)) {
        return Error(ErrorCode::kCorruption,
                     fmt::format("{} returned other bytes than written", path_));
      }
    }
    return {};
  }

  Status Move(IoBackend& backend, IoRequest::Kind kind, int fd, std::span<std::byte> data) {
    const iovec entry{data.data(), data.size()};
    IoRequest request;
    request.kind = kind;
    request.fd = fd;
    request.iov = {&entry, 1};
    request.bytes = static_cast<uint32_t>(data.size());
    const int32_t result = Transfer(backend, request);
    const char* const what = kind == IoRequest::Kind::kRead ? "read" : "write";
    if (result < 0) return TransferError(what, path_, -result);
    if (result != static_cast<int32_t>(data.size())) {
      return Error(ErrorCode::kIo, fmt::format("{} {} ended after {} bytes", what, path_, result));
    }
    return {};
  }

  static std::byte Pattern(size_t at) { return static_cast<std::byte>(at * 131 + (at >> 8)); }

  FileSystem& files_;
  const std::string path_;
  const BackendFactory& make_;
  BlockPool& pool_;
};

// Errors that say "not this way" about io_uring, not "not here" about the directory.
bool RefusesUring(const Error& error) {
  if (error.code() == ErrorCode::kUnsupported) return true;
  const std::array refusals = {EINVAL, EOPNOTSUPP, ENOSYS, EPERM, ENOMEM};
  return std::find(refusals.begin(), refusals.end(), error.errno_value()) != refusals.end();
}

const char* KindName(BackendKind kind) {
  return kind == BackendKind::kUring ? "io_uring" : "threads";
}

}  // namespace

Result<std::unique_ptr<IoBackend>> MakeBackend(const BackendOptions& options,
                                               const base::Clock& clock) {
  if (options.kind == BackendKind::kAuto) {
    return Error(ErrorCode::kInvalidArgument, "a backend of kind auto has to be probed first");
  }
  KVS_TRY_ASSIGN(std::unique_ptr<IoBackend> backend, options.kind == BackendKind::kUring
                                                         ? MakeUring(options.depth)
                                                         : MakeThreads(options));
  if (!IsShaped(options.shape)) return backend;
  return std::make_unique<ShapedBackend>(std::move(backend), options.shape, clock);
}

bool IsRemoteFileSystem(uint64_t magic) {
  // Of linux/magic.h where it knows them; Lustre, GPFS, BeeGFS, OrangeFS, VxFS clusters … bring
  // their own.
  static constexpr std::array<uint64_t, 13> kRemote = {
      0x65735546,  // FUSE
      0x6969,      // NFS
      0xff534d42,  // CIFS
      0xfe534d42,  // SMB2
      0x517b,      // SMB
      0x0bd00bd0,  // Lustre
      0x47504653,  // GPFS
      0x00c36400,  // Ceph
      0x01021997,  // 9p
      0x19830326,  // BeeGFS
      0x20030528,  // OrangeFS
      0x5346414f,  // AFS
      0x6a656a63,  // virtiofs before it used FUSE's
  };
  return std::find(kRemote.begin(), kRemote.end(), magic) != kRemote.end();
}

Result<ProbeResult> Probe(FileSystem& files, const ProbeOptions& options,
                          const BackendFactory& make) {
  uint64_t magic = 0;
  if (const int result = files.Magic(options.directory, &magic); result < 0) {
    return TransferError("statfs", options.directory, -result);
  }
  const bool remote = IsRemoteFileSystem(magic);
  const bool chosen = options.backend != BackendKind::kAuto;
  ProbeResult result;
  result.backend = chosen ? options.backend : remote ? BackendKind::kThreads : BackendKind::kUring;
  result.landing = options.landing != Landing::kAuto ? options.landing
                   : remote                          ? Landing::kBounce
                                                     : Landing::kDirect;
  std::string note = fmt::format("{} file system ({:#x})", remote ? "remote" : "local", magic);
  if (chosen) note += ", backend chosen by option";

  KVS_TRY_ASSIGN(const std::unique_ptr<BlockPool> pool, BlockPool::Create(kProbeBytes, 1));
  Prober prober(files, options, make, *pool);
  Result<bool> direct = prober.Try(result.backend);
  if (!direct && !chosen && result.backend == BackendKind::kUring && RefusesUring(direct.error())) {
    note += fmt::format(", io_uring refused: {}", direct.error().ToString());
    result.backend = BackendKind::kThreads;
    direct = prober.Try(result.backend);
  }
  if (!direct) return std::move(direct).error();
  result.direct = *direct;
  result.reason = fmt::format("{}, {}: {}", KindName(result.backend),
                              result.direct ? "O_DIRECT" : "buffered (O_DIRECT refused)", note);
  return result;
}

}  // namespace kvstream::io
