#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

#include "kvstream/export.h"

namespace kvstream {

/// What went wrong. Callers branch on the code, never on the text of the message.
enum class ErrorCode : uint8_t {
  kNotFound,         ///< No such file, namespace, job or lease.
  kCorruption,       ///< Stored bytes do not agree with their checksum or format.
  kInvalidArgument,  ///< The caller's input cannot be accepted; nothing was done.
  kIo,               ///< The operating system refused or failed an operation; see errno.
  kNoSpace,          ///< A bounded resource is full (tier capacity, stage, file system).
  kBusy,             ///< Another owner or an open job holds what was asked for.
  kUnsupported,      ///< A format or feature that this build or machine does not know.
  kShutdown,         ///< The engine is closing or closed.
  kTimeout,          ///< A deadline passed first.
};

/// The code's name without its prefix, for example "NotFound".
KVS_EXPORT std::string_view ErrorCodeName(ErrorCode code);

/// One failure: code, message, errno where there is one, and the tier's name where one is to blame.
/// One pointer in size and move-only; a moved-from Error may only be destroyed or assigned.
class KVS_EXPORT Error {
 public:
  Error(ErrorCode code, std::string message, int errno_value = 0, std::string tier = {});

  ErrorCode code() const { return detail_->code; }
  /// What failed, on which file, why. Starts lower case, has no final period.
  const std::string& message() const { return detail_->message; }
  int errno_value() const { return detail_->errno_value; }
  const std::string& tier() const { return detail_->tier; }
  /// "NotFound: open /a/b: No such file or directory (tier nvme)".
  std::string ToString() const;

  /// A second Error with the same contents.
  Error Clone() const;
  /// The same failure, its message preceded by `context` and ": ".
  Error WithContext(std::string_view context) &&;

 private:
  struct Detail {
    ErrorCode code;
    int errno_value;
    std::string message;
    std::string tier;
  };
  std::unique_ptr<Detail> detail_;
};

/// A value or an Error. Discarding one is a compiler warning.
template <typename T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
  using Base = tl::expected<T, Error>;

 public:
  using Base::Base;
  // Implicit, so that functions return values, errors and the results of map() alike.
  Result(Base&& base) : Base(std::move(base)) {}                 // NOLINT(*-explicit-constructor)
  Result(Error error) : Base(tl::unexpect, std::move(error)) {}  // NOLINT(*-explicit-constructor)
};

/// Success or an Error.
using Status = Result<void>;

}  // namespace kvstream

/// Returns the Error of `expression` (a Status or Result) from the enclosing function, if it is
/// one.
#define KVS_TRY(expression)                                        \
  do {                                                             \
    auto kvs_try_result = (expression);                            \
    if (!kvs_try_result) return std::move(kvs_try_result).error(); \
  } while (false)

#define KVS_TRY_CONCAT_INNER(a, b) a##b
#define KVS_TRY_CONCAT(a, b) KVS_TRY_CONCAT_INNER(a, b)

/// KVS_TRY_ASSIGN(auto x, F()): declares or assigns the value of a Result, or returns its Error.
#define KVS_TRY_ASSIGN(target, expression)                           \
  auto KVS_TRY_CONCAT(kvs_result_, __LINE__) = (expression);         \
  if (!KVS_TRY_CONCAT(kvs_result_, __LINE__))                        \
    return std::move(KVS_TRY_CONCAT(kvs_result_, __LINE__)).error(); \
  target = std::move(*KVS_TRY_CONCAT(kvs_result_, __LINE__))
