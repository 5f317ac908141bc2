// Arbitrary bytes as a trace: an error or a trace whose parts agree, in bounded time and memory.
// The file's last two bytes choose the options as well, so that good files are good seeds: a line
// feed means that the format is found out. KVS_FUZZ_FORMAT names the one format of a run.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "trace/request_trace.h"

namespace kvstream::trace {
namespace {

std::string FormatFrom(uint8_t bits) {
  static const char* const pinned = std::getenv("KVS_FUZZ_FORMAT");
  if (pinned != nullptr) return pinned;
  const std::vector<std::string>& names = FormatNames();
  const size_t choice = bits % (names.size() + 1);
  return choice == names.size() ? "auto" : names[choice];
}

/// Bits are such that the last bytes of good files, braces and digits, choose options that fit
/// them.
TraceOptions OptionsFrom(uint8_t bits, uint8_t last) {
  static constexpr uint32_t kChunkTokens[] = {512, 64, 256, 16};
  static constexpr const char* kPrefixes[] = {"none", "shared:100", "session", ""};
  static constexpr Order kOrders[] = {Order::kRoundRobin, Order::kRecorded, Order::kInterleave,
                                      Order::kSequential};
  return {.format = FormatFrom(last),
          .prefixes = kPrefixes[bits >> 2 & 3],
          .shared_heads = (bits & 16) != 0,
          .chunk_tokens = kChunkTokens[bits & 3],
          .context_tokens_max = (bits & 16) != 0 ? 100'000u : 0u,
          .session_turns_min = (bits & 128) != 0 ? 2u : 0u,
          .order = kOrders[bits >> 5 & 3]};
}

// Only short prompts are spelled out: the same chunks may be named by every request.
void CheckTrace(const RequestTrace& trace) {
  constexpr uint32_t kChunksShort = 4096;
  KVS_ASSERT(!trace.requests.empty() && trace.session_count <= trace.requests.size());
  std::vector<uint64_t> ids;
  for (const Request& request : trace.requests) {
    KVS_ASSERT(request.session < trace.session_count);
    KVS_ASSERT(request.arrival_s >= 0);
    KVS_ASSERT(request.chunk_count == request.input_tokens / trace.chunk_tokens);
    if (request.chunk_count > kChunksShort) continue;
    trace.ChunkIds(request, ids);
    for (const uint64_t id : ids) KVS_ASSERT(id < trace.chunk_count);
  }
  const TraceSummary summary = Summarize(trace);
  KVS_ASSERT(summary.unique_chunks <= summary.chunk_accesses);
  KVS_ASSERT(trace.has_prefixes || summary.unique_chunks == summary.chunk_accesses);
}

}  // namespace
}  // namespace kvstream::trace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kvstream::trace;
  if (size < 2) return 0;
  const std::string_view contents(reinterpret_cast<const char*>(data), size);
  const auto trace = ParseTrace("fuzz", contents, OptionsFrom(data[size - 2], data[size - 1]));
  if (trace) CheckTrace(*trace);
  return 0;
}
