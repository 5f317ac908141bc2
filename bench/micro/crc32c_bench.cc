// The checksum of every block read and written, beside what a compiler's intrinsics give without
// ISA-L. The label is the checksum, the same in every row of one size.
#include <cstring>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <nmmintrin.h>

#include "base/assert.h"
#include "base/prng.h"
#include "chunk/crc32c.h"

namespace kvstream::chunk {
namespace {

std::vector<std::byte> RandomBytes(size_t size) {
  base::Prng prng(1);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(prng.Next());
  return bytes;
}

// One CRC32 instruction after the other; each waits for the one before, 3 cycles.
__attribute__((target("sse4.2"))) uint32_t SerialCrc32c(std::span<const std::byte> data) {
  uint64_t crc = 0xffffffff;
  size_t at = 0;
  for (; at + 8 <= data.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, data.data() + at, sizeof(word));
    crc = _mm_crc32_u64(crc, word);
  }
  auto tail = static_cast<uint32_t>(crc);
  for (; at < data.size(); ++at) tail = _mm_crc32_u8(tail, static_cast<uint8_t>(data[at]));
  return ~tail;
}

template <uint32_t (*kChecksum)(std::span<const std::byte>)>
void Checksum(benchmark::State& state) {
  const auto bytes = RandomBytes(static_cast<size_t>(state.range(0)));
  uint32_t crc = 0;
  for (auto _ : state) benchmark::DoNotOptimize(crc = kChecksum(bytes));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * state.range(0));
  state.SetLabel(fmt::format("{:08x}", crc));
  KVS_ASSERT(crc == SerialCrc32c(bytes));
}
BENCHMARK(Checksum<Crc32c>)->Arg(4 << 10)->Arg(256 << 10)->Arg(1 << 20)->Arg((16 << 20) + 5);
BENCHMARK(Checksum<SerialCrc32c>)->Arg(4 << 10)->Arg(256 << 10)->Arg(1 << 20)->Arg((16 << 20) + 5);

}  // namespace
}  // namespace kvstream::chunk

BENCHMARK_MAIN();
