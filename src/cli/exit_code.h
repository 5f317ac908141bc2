#pragma once

#include "kvstream/status.h"

namespace kvstream::cli {

/// What every command ends with.
enum ExitCode : int {
  kExitOk = 0,
  kExitFailed = 1,         ///< A wrong byte, a failed operation, or a missed acceptance limit.
  kExitBadInput = 2,       ///< The command line, a file or a directory cannot be accepted.
  kExitInterrupted = 130,  ///< SIGINT; what was measured until then has been printed.
};

/// The exit code for a failure: the user's to mend, or the machine's.
inline ExitCode ExitCodeFor(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kNotFound:
    case ErrorCode::kBusy:
    case ErrorCode::kUnsupported:
      return kExitBadInput;
    case ErrorCode::kCorruption:
    case ErrorCode::kIo:
    case ErrorCode::kNoSpace:
    case ErrorCode::kShutdown:
    case ErrorCode::kTimeout:
      return kExitFailed;
  }
  return kExitFailed;
}

}  // namespace kvstream::cli
