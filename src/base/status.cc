#include "kvstream/status.h"

#include <cstring>

#include <fmt/format.h>

namespace kvstream {

std::string_view ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNotFound:
      return "NotFound";
    case ErrorCode::kCorruption:
      return "Corruption";
    case ErrorCode::kInvalidArgument:
      return "InvalidArgument";
    case ErrorCode::kIo:
      return "Io";
    case ErrorCode::kNoSpace:
      return "NoSpace";
    case ErrorCode::kBusy:
      return "Busy";
    case ErrorCode::kUnsupported:
      return "Unsupported";
    case ErrorCode::kShutdown:
      return "Shutdown";
    case ErrorCode::kTimeout:
      return "Timeout";
  }
  return "Unknown";
}

Error::Error(ErrorCode code, std::string message, int errno_value, std::string tier)
    : detail_(std::make_unique<Detail>(
          Detail{code, errno_value, std::move(message), std::move(tier)})) {}

std::string Error::ToString() const {
  std::string text = fmt::format("{}: {}", ErrorCodeName(code()), message());
  if (errno_value() != 0) text += fmt::format(": {}", std::strerror(errno_value()));
  if (!tier().empty()) text += fmt::format(" (tier {})", tier());
  return text;
}

Error Error::Clone() const { return Error(code(), message(), errno_value(), tier()); }

Error Error::WithContext(std::string_view context) && {
  detail_->message = fmt::format("{}: {}", context, detail_->message);
  return std::move(*this);
}

}  // namespace kvstream
