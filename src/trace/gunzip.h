#pragma once

#include <string>
#include <string_view>

#include "kvstream/status.h"

namespace kvstream::trace {

/// Text unpacks to at most this many times its packed size, so that a small file cannot fill
/// memory.
inline constexpr size_t kUnpackRatioMax = 100;

/// True if the bytes begin as a gzip file does.
bool IsGzip(std::string_view bytes);

/// Unpacks a gzip file of one or more members. kInvalidArgument if it is damaged, cut short,
/// followed by something else, or unpacks to more than kUnpackRatioMax times its size plus 1 MiB.
/// Pure; any thread.
Result<std::string> Gunzip(std::string_view packed);

}  // namespace kvstream::trace
