#include "kvsim/parallel.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "cli/interrupt.h"

namespace kvstream::kvsim {

void ForEachOnAllCores(size_t count, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next{0};
  const auto run = [&] {
    while (!cli::Interrupted()) {
      const size_t index = next.fetch_add(1);
      if (index >= count) return;
      work(index);
    }
  };
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> threads;
  // This thread is one of them.
  for (size_t thread = 1; thread < std::min(cores, count); ++thread) threads.emplace_back(run);
  run();
}

}  // namespace kvstream::kvsim
