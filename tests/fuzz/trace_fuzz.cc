// Arbitrary bytes as a trace: an error or a trace whose parts agree, in bounded time and memory.
// The first byte chooses the options, the rest is the file.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "trace/request_trace.h"

namespace kvstream::trace {
namespace {

TraceOptions OptionsFrom(uint8_t bits) {
  static constexpr const char* kFormats[] = {"auto", "mooncake", "prefix-trie", "auto"};
  static constexpr uint32_t kChunkTokens[] = {1, 64, 256, 512};
  return {.format = kFormats[bits & 3],
          .chunk_tokens = kChunkTokens[bits >> 2 & 3],
          .context_tokens_max = (bits & 16) != 0 ? 100'000u : 0u,
          .session_turns_min = (bits & 32) != 0 ? 2u : 0u,
          .order = static_cast<Order>(bits >> 6)};
}

// Only short prompts are spelled out: the same chunks may be named by every request.
void CheckTrace(const RequestTrace& trace) {
  constexpr uint32_t kChunksShort = 4096;
  KVS_ASSERT(!trace.requests.empty() && trace.session_count <= trace.requests.size());
  std::vector<uint64_t> ids;
  for (const Request& request : trace.requests) {
    KVS_ASSERT(request.session < trace.session_count);
    KVS_ASSERT(request.chunk_count == request.input_tokens / trace.chunk_tokens);
    if (request.chunk_count > kChunksShort) continue;
    trace.ChunkIds(request, ids);
    for (const uint64_t id : ids) KVS_ASSERT(id < trace.chunk_count);
  }
  const TraceSummary summary = Summarize(trace);
  KVS_ASSERT(summary.unique_chunks <= summary.chunk_accesses);
}

}  // namespace
}  // namespace kvstream::trace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kvstream::trace;
  if (size == 0) return 0;
  const std::string_view contents(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto trace = ParseTrace("fuzz", contents, OptionsFrom(data[0]));
  if (trace) CheckTrace(*trace);
  return 0;
}
