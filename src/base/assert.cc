#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace kvstream::base {

void AssertFailed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "kvstream: %s:%d: assertion failed: %s\n", file, line, expression);
  std::abort();
}

}  // namespace kvstream::base
