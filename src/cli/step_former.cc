#include "cli/step_former.h"

#include <unordered_set>

#include "base/assert.h"

namespace kvstream::cli {

size_t StepEnd(const trace::RequestTrace& trace, size_t begin, const BatchLimits& limits) {
  KVS_ASSERT(begin < trace.requests.size());
  KVS_ASSERT(limits.requests_max > 0);
  std::unordered_set<uint32_t> sessions;
  uint64_t tokens = 0;
  size_t end = begin;
  while (end < trace.requests.size() && end - begin < limits.requests_max) {
    const trace::Request& request = trace.requests[end];
    tokens += request.input_tokens;
    if (end > begin && tokens > limits.tokens_max) break;
    if (!sessions.insert(request.session).second) break;
    ++end;
  }
  return end;
}

}  // namespace kvstream::cli
