// A user of the installed library: writes a chunk to one tier, reads it back, compares.
#include <chrono>
#include <cstdio>
#include <cstring>

#include "kvstream/kvstream.h"

namespace {

kvstream::Status WriteAndReadBack(const char* directory) {
  kvstream::EngineOptions options;
  options.tiers.push_back(
      {.name = "only", .directory = directory, .capacity_bytes = 64 * kvstream::kMiB});
  options.write.stage_bytes = 16 * kvstream::kMiB;
  KVS_TRY_ASSIGN(auto engine, kvstream::Engine::Open(options));
  KVS_TRY_ASSIGN(const auto ns, engine->OpenNamespace({.model = "consumer", .dtype = "bfloat16"}));

  KVS_TRY_ASSIGN(auto written, kvstream::Buffer::Allocate(2 * kvstream::kMiB));
  KVS_TRY_ASSIGN(auto read, kvstream::Buffer::Allocate(2 * kvstream::kMiB));
  std::memset(written.data(), 0x5a, written.size());
  const std::string_view name = "chunk 0";
  const auto key = kvstream::ChunkKey::FromParts({&name, 1});
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);

  const std::span<const std::byte> source = written.span();
  const kvstream::WriteItem put{.key = key, .segments = {&source, 1}};
  KVS_TRY(engine->Write(ns, {&put, 1}));
  KVS_TRY(engine->Flush(deadline));

  const std::span<std::byte> target = read.span();
  const kvstream::ReadItem get{.key = key, .segments = {&target, 1}};
  KVS_TRY_ASSIGN(const auto job, engine->Read(ns, {&get, 1}, {.deadline = deadline}));
  KVS_TRY_ASSIGN(const auto event, engine->Wait(job, deadline));
  const bool same = std::memcmp(written.data(), read.data(), read.size()) == 0;
  if (!event.ok || !same || !engine->Close(deadline).empty())
    return kvstream::Error(kvstream::ErrorCode::kCorruption, "the chunk did not come back");
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  if (const kvstream::Status status = WriteAndReadBack(argv[1]); !status) {
    std::fprintf(stderr, "%s\n", status.error().ToString().c_str());
    return 1;
  }
  std::printf("kvstream %s: read back what was written\n", KVSTREAM_VERSION);
  return 0;
}
