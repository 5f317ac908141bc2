// A complete host: two steps over two tiers. Usage: minimal_host FAST_DIRECTORY SLOW_DIRECTORY
#include <poll.h>

#include <algorithm>
#include <cstdio>

#include "kvstream/kvstream.h"

namespace kv = kvstream;
using namespace std::chrono_literals;

constexpr size_t kChunks = 16;
constexpr size_t kChunkBytes = 4 * kv::kMiB;

// Stands for the forward pass: what the model would put into chunk `index`.
void Compute(size_t index, std::span<std::byte> chunk) {
  std::ranges::fill(chunk, static_cast<std::byte>(index + 1));
}

// Reads `items` and returns how many arrived before the first one that did not.
kv::Result<size_t> ReadPrefix(kv::Engine& engine, kv::NamespaceId ns,
                              std::span<const kv::ReadItem> items, kv::LeaseId lease) {
  if (items.empty()) {
    engine.Release(lease);  // hits behind a gap are of no use
    return size_t{0};
  }
  const auto deadline = std::chrono::steady_clock::now() + 5s;
  KVS_TRY_ASSIGN(const kv::JobId job,
                 engine.Read(ns, items, {.deadline = deadline, .lease = lease}));
  std::vector<bool> arrived(items.size());
  for (bool done = false; !done;) {
    pollfd ready{.fd = engine.event_fd(), .events = POLLIN, .revents = 0};
    poll(&ready, 1, /*timeout=*/-1);
    for (const kv::Event& event : engine.Poll()) {
      if (event.job != job) continue;  // a write of an earlier step has settled
      if (event.kind == kv::Event::Kind::kReadDone)
        done = true;
      else
        arrived[event.item] = event.ok;  // a host starts this chunk's copy to the GPU here
    }
  }
  return static_cast<size_t>(std::ranges::find(arrived, false) - arrived.begin());
}

// One step: brings the prompt's chunks into `memory`, the known prefix from storage, the rest by
// computing it, and hands what is new to storage. Returns the number of chunks read.
kv::Result<size_t> RunStep(kv::Engine& engine, kv::NamespaceId ns,
                           std::span<const kv::ChunkKey> keys, std::span<std::byte> memory) {
  engine.StepBegin();  // writes stand back
  std::vector<kv::LookupResult> found(keys.size());
  const kv::LeaseId lease = engine.Lookup(ns, keys, found, /*lease=*/true);
  std::vector<std::span<std::byte>> chunks;
  for (size_t i = 0; i < keys.size(); ++i)
    chunks.push_back(memory.subspan(i * kChunkBytes, kChunkBytes));
  std::vector<kv::ReadItem> reads;
  for (size_t i = 0; i < keys.size() && found[i].hit(); ++i)
    reads.push_back({.key = keys[i], .segments = {&chunks[i], 1}});
  KVS_TRY_ASSIGN(const size_t hits, ReadPrefix(engine, ns, reads, lease));

  engine.ForwardBegan();  // the tiers are free: writes may go
  const std::vector<std::span<const std::byte>> results(chunks.begin(), chunks.end());
  std::vector<kv::WriteItem> writes;
  for (size_t i = hits; i < keys.size(); ++i) {
    Compute(i, chunks[i]);
    writes.push_back({.key = keys[i], .segments = {&results[i], 1}});
  }
  if (!writes.empty()) KVS_TRY(engine.Write(ns, writes));
  return hits;
}

kv::Status RunHost(const char* fast, const char* slow) {
  kv::EngineOptions options;
  options.tiers = {{.name = "fast", .directory = fast, .capacity_bytes = 1 * kv::kGiB},
                   {.name = "slow", .directory = slow, .capacity_bytes = 1 * kv::kGiB}};
  KVS_TRY_ASSIGN(const auto engine, kv::Engine::Open(options));
  KVS_TRY_ASSIGN(const auto ns, engine->OpenNamespace({.model = "demo", .dtype = "bfloat16"}));
  std::vector<kv::ChunkKey> keys;
  for (size_t i = 0; i < kChunks; ++i) {
    const std::string tokens = "tokens of the prompt up to chunk " + std::to_string(i);
    const std::string_view part = tokens;
    keys.push_back(kv::ChunkKey::FromParts({&part, 1}));
  }

  for (int step = 1; step <= 2; ++step) {
    KVS_TRY_ASSIGN(kv::Buffer memory, kv::Buffer::Allocate(kChunks * kChunkBytes));
    KVS_TRY_ASSIGN(const size_t hits, RunStep(*engine, ns, keys, memory.span()));
    for (size_t i = 0; i < kChunks; ++i) {
      if (memory.span()[i * kChunkBytes] != static_cast<std::byte>(i + 1))
        return kv::Error(kv::ErrorCode::kCorruption, "chunk " + std::to_string(i) + " is wrong");
    }
    std::printf("step %d: %zu chunks read, %zu computed\n", step, hits, kChunks - hits);
    KVS_TRY(engine->Flush(std::chrono::steady_clock::now() + 10s));  // for the show: not in a step
  }
  if (!engine->Close(std::chrono::steady_clock::now() + 10s).empty())
    return kv::Error(kv::ErrorCode::kTimeout, "the kernel still holds memory of a read");
  return {};
}

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: minimal_host FAST_DIRECTORY SLOW_DIRECTORY\n");
    return 2;
  }
  if (const kv::Status status = RunHost(argv[1], argv[2]); !status) {
    std::fprintf(stderr, "%s\n", status.error().ToString().c_str());
    return 1;
  }
  return 0;
}
