#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "kvstream/options.h"
#include "kvstream/status.h"

#include "base/clock.h"
#include "io/file_system.h"
#include "io/io_backend.h"

namespace kvstream::io {

struct BackendOptions {
  BackendKind kind = BackendKind::kThreads;  ///< Not kAuto: that is what Probe resolves.
  uint32_t depth = 64;
  uint32_t threads = 16;  ///< Of the thread backend.
  ShapeOptions shape;     ///< All zero: not shaped.
};

/// A production backend. `clock` outlives it; only shaped backends look at it.
/// kInvalidArgument (kAuto, depth), kUnsupported (io_uring refused or not built in), kNoSpace, kIo.
Result<std::unique_ptr<IoBackend>> MakeBackend(const BackendOptions& options,
                                               const base::Clock& clock);

/// True for file systems behind a network or a user-space daemon, by their statfs(2) magic:
/// there io_uring may block while it submits, and an operation may hang for as long as the other
/// side likes.
bool IsRemoteFileSystem(uint64_t magic);

struct ProbeOptions {
  std::string directory;
  /// A name nobody else uses; created in `directory` and gone when Probe returns.
  std::string temporary_name;
  BackendKind backend = BackendKind::kAuto;
  Landing landing = Landing::kAuto;
};

/// How one tier does its I/O, and why, for the log and the statistics.
struct ProbeResult {
  BackendKind backend = BackendKind::kThreads;  ///< Never kAuto.
  bool direct = false;                          ///< O_DIRECT.
  Landing landing = Landing::kDirect;           ///< Never kAuto.
  std::string reason;  ///< "io_uring, O_DIRECT: local file system (0xef53)".
};

/// Makes a backend to try; MakeBackend in production.
using BackendFactory = std::function<Result<std::unique_ptr<IoBackend>>(BackendKind kind)>;

/// Writes a small file through the wanted backend, reads it back and compares: what the directory
/// really takes. Blocks for as long as the file system likes; any thread.
///
/// An O_DIRECT that is refused, at open or at the transfer, means buffered I/O. An io_uring that is
/// refused means threads, unless it was asked for by name: then it is an error, as is all else that
/// fails. kIo, kNoSpace, kNotFound, kCorruption (other bytes came back), or MakeBackend's.
Result<ProbeResult> Probe(FileSystem& files, const ProbeOptions& options,
                          const BackendFactory& make);

}  // namespace kvstream::io
