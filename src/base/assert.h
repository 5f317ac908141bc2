#pragma once

namespace kvstream::base {

[[noreturn]] void AssertFailed(const char* expression, const char* file, int line);

}  // namespace kvstream::base

/// Checks a programmer's claim in every build; prints expression and place, then aborts. Never for
/// input, files or the kernel's answers.
#define KVS_ASSERT(expression)                                         \
  do {                                                                 \
    if (!(expression)) [[unlikely]]                                    \
      ::kvstream::base::AssertFailed(#expression, __FILE__, __LINE__); \
  } while (false)

/// As KVS_ASSERT, for per-byte and per-block loops; compiled out in release builds.
#ifdef NDEBUG
#define KVS_DASSERT(expression) static_cast<void>(sizeof(expression))
#else
#define KVS_DASSERT(expression) KVS_ASSERT(expression)
#endif
