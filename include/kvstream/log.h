#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace kvstream {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError };

/// Receives the engine's few log lines. Called from any of its threads, one call at a time, never
/// with an engine lock held. Must not call back into the engine and must not throw.
using LogSink = std::function<void(LogLevel level, std::string_view message)>;

}  // namespace kvstream
