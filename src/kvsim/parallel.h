#pragma once

#include <cstddef>
#include <functional>

namespace kvstream::kvsim {

/// Calls work(0) to work(count - 1), each once, on as many threads as there are cores, and returns
/// when all have ended. After an interrupt (cli/interrupt.h) no further ones begin. `work` must not
/// throw.
void ForEachOnAllCores(size_t count, const std::function<void(size_t)>& work);

}  // namespace kvstream::kvsim
