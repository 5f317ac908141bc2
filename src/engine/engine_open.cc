#include "engine/engine_open.h"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <future>
#include <random>
#include <set>

#include <fmt/format.h>

#include "chunk/path.h"
#include "io/probe.h"

namespace kvstream::engine {
namespace {

/// Requests a lane may have in flight: the largest window in pieces of one block.
constexpr uint32_t kBackendDepth = 128;
constexpr uint64_t kBounceBlocksMin = 8;
/// Longer durations mean never; without a limit, adding one to a time could overflow.
constexpr std::chrono::nanoseconds kDurationMax = std::chrono::hours(10 * 365 * 24);

uint64_t RandomSeed() {
  std::random_device device;
  return (uint64_t{device()} << 32) ^ device();
}

std::string HostName() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

Error Invalid(const std::string& message) { return Error(ErrorCode::kInvalidArgument, message); }

Status CheckTier(const TierOptions& tier) {
  if (tier.name.empty()) return Invalid("a tier needs a name");
  if (tier.directory.empty()) return Invalid(fmt::format("tier {}: no directory given", tier.name));
  if (tier.capacity_bytes == 0)
    return Invalid(fmt::format("tier {}: no capacity given", tier.name));
  return {};
}

Status CheckDurations(const EngineOptions& options) {
  const std::pair<const char*, std::chrono::nanoseconds> durations[] = {
      {"write.age_max", options.write.age_max},
      {"write.idle_delay", options.write.idle_delay},
      {"lease_ttl", options.lease_ttl},
      {"hang_after", options.hang_after}};
  for (const auto& [name, duration] : durations) {
    if (duration.count() < 0) return Invalid(fmt::format("{} must not be negative", name));
  }
  return {};
}

Status CheckOptions(const EngineOptions& options) {
  KVS_TRY(CheckDurations(options));
  if (options.tiers.empty() || options.tiers.size() > kTiersMax) {
    return Invalid(
        fmt::format("1 to {} tiers are needed, {} given", kTiersMax, options.tiers.size()));
  }
  std::set<std::string> names;
  for (const TierOptions& tier : options.tiers) {
    KVS_TRY(CheckTier(tier));
    if (!names.insert(tier.name).second) {
      return Invalid(fmt::format("two tiers are named {}", tier.name));
    }
  }
  if (options.routing.policy == Policy::kSingleTier &&
      options.routing.tier >= options.tiers.size()) {
    return Invalid(fmt::format("routing names tier {}, there are {}", options.routing.tier,
                               options.tiers.size()));
  }
  if (!options.owner.empty() && !chunk::IsOwnerName(options.owner)) {
    return Invalid(fmt::format("owner '{}': letters, digits, '.', '_' and '-' only, at most {}",
                               options.owner, chunk::kOwnerCharsMax));
  }
  if (options.write.stage_bytes < chunk::kBlockBytes) {
    return Invalid("the stage must hold at least one block of 1 MiB");
  }
  const uint64_t bounce_min = kBounceBlocksMin * options.tiers.size() * chunk::kBlockBytes;
  if (options.bounce_bytes < bounce_min) {
    return Invalid(fmt::format("bounce_bytes must be at least {} for {} tiers", bounce_min,
                               options.tiers.size()));
  }
  return {};
}

std::string OwnerOf(const EngineOptions& options) {
  if (!options.owner.empty()) return options.owner;
  std::string owner = HostName().substr(0, chunk::kOwnerCharsMax);
  return chunk::IsOwnerName(owner) ? owner : "localhost";
}

Result<std::vector<std::unique_ptr<tier::TierDirectory>>> OpenDirectories(
    io::FileSystem& files, const EngineOptions& options) {
  std::vector<tier::TierDirectory::Options> wanted;
  for (const TierOptions& tier : options.tiers) {
    wanted.push_back({tier.name, tier.directory.string(), OwnerOf(options),
                      fmt::format("host {}, pid {}", HostName(), ::getpid()), RandomSeed()});
  }
  return tier::TierDirectory::OpenAll(files, wanted);
}

Result<io::ProbeResult> ProbeTier(EngineState& state, const TierOptions& options) {
  io::ProbeOptions probe;
  probe.directory = options.directory.string() + "/.kvstream";
  probe.temporary_name = fmt::format("probe.{}.{}.tmp", OwnerOf(state.options), ::getpid());
  probe.backend = options.backend;
  probe.landing = options.landing;
  const auto make = [&](BackendKind kind) {
    io::BackendOptions backend;
    backend.kind = kind;
    backend.depth = kBackendDepth;
    return io::MakeBackend(backend, state.clock);
  };
  auto result = io::Probe(state.files, probe, make);
  if (!result) return std::move(result).error().WithContext("tier " + options.name);
  return result;
}

Result<std::unique_ptr<io::IoBackend>> MakeLaneBackend(const EngineState& state,
                                                       const TierOptions& options, BackendKind kind,
                                                       bool reads) {
  io::BackendOptions backend;
  backend.kind = kind;
  backend.depth = kBackendDepth;
  backend.shape.latency = options.shape.latency;
  if (reads) {
    backend.shape.read_bytes_per_second = options.shape.read_bytes_per_second;
  } else {
    backend.shape.write_bytes_per_second = options.shape.write_bytes_per_second;
  }
  return io::MakeBackend(backend, state.clock);
}

Status OpenLanes(EngineState& state, uint32_t index, const io::ProbeResult& probe) {
  const TierOptions& options = state.options.tiers[index];
  OpenTier& tier = *state.tiers[index];
  const uint64_t bounce_blocks =
      state.options.bounce_bytes / chunk::kBlockBytes / state.options.tiers.size();
  KVS_TRY_ASSIGN(tier.bounce, io::BlockPool::Create(chunk::kBlockBytes, bounce_blocks));
  // One block for each that the window lets be in flight, and for the footers beside them.
  const uint64_t write_blocks = state.options.write.window_bytes / chunk::kBlockBytes + 8;
  KVS_TRY_ASSIGN(tier.write_blocks, io::BlockPool::Create(chunk::kBlockBytes, write_blocks));
  KVS_TRY_ASSIGN(auto read_backend, MakeLaneBackend(state, options, probe.backend, true));
  KVS_TRY_ASSIGN(auto write_backend, MakeLaneBackend(state, options, probe.backend, false));
  const bool verify = state.options.verify == Verify::kAlways;
  const LaneContext reads{
      index,        state.core,   *tier.directory, state.files, state.namespaces,
      *tier.bounce, probe.direct, verify};
  const LaneContext writes{
      index,        state.core, *tier.directory, state.files, state.namespaces, *tier.write_blocks,
      probe.direct, verify};
  tier.read_lane = std::make_unique<ReadLane>(reads, std::move(read_backend));
  tier.write_lane = std::make_unique<WriteLane>(writes, std::move(write_backend));
  tier.backend = std::string(tier.read_lane->backend_name()) + (probe.direct ? "" : ", buffered");
  state.logger.Log(LogLevel::kInfo, fmt::format("tier {}: {}: {}", tier.name,
                                                tier.directory->directory(), probe.reason));
  return {};
}

std::vector<core::FoundChunk> ToFound(tier::Snapshot& snapshot, NamespaceTable& namespaces) {
  std::vector<std::optional<NamespaceId>> ids;
  for (const chunk::Fingerprint& fingerprint : snapshot.fingerprints) {
    ids.push_back(namespaces.IdOf(fingerprint));
  }
  std::vector<core::FoundChunk> found;
  found.reserve(snapshot.entries.size());
  for (tier::SnapshotEntry& entry : snapshot.entries) {
    const std::optional<NamespaceId> ns = ids[entry.fingerprint_index];
    if (!ns) continue;
    entry.meta.mutable_meta().ns = *ns;
    found.push_back({std::move(entry.meta), entry.owned});
  }
  return found;
}

Status UseSnapshot(EngineState& state, uint32_t index, Result<tier::Snapshot> snapshot) {
  OpenTier& tier = *state.tiers[index];
  if (snapshot) {
    const auto found = ToFound(*snapshot, state.namespaces);
    state.core.Call([&](core::Core& core, TimePoint now) { core.AddFound(index, found, now); });
    tier.needs_scan = !snapshot->clean;
    state.logger.Log(LogLevel::kInfo,
                     fmt::format("tier {}: {} chunks from the snapshot{}", tier.name, found.size(),
                                 snapshot->clean ? "" : ", which is not clean: scanning"));
  } else if (snapshot.error().code() != ErrorCode::kNotFound) {
    state.logger.Log(LogLevel::kWarning, fmt::format("tier {}: snapshot ignored, scanning: {}",
                                                     tier.name, snapshot.error().ToString()));
  }
  return tier.directory->MarkSnapshotStale();
}

/// Reads the tiers' snapshots side by side: most of an open is spent there.
Status LoadSnapshots(EngineState& state) {
  std::vector<std::future<Result<tier::Snapshot>>> snapshots;
  for (const auto& tier : state.tiers) {
    snapshots.push_back(
        std::async(std::launch::async, [t = tier.get()] { return t->directory->LoadSnapshot(); }));
  }
  for (uint32_t index = 0; index < snapshots.size(); ++index) {
    KVS_TRY(UseSnapshot(state, index, snapshots[index].get()));
  }
  return {};
}

core::CoreOptions ToCoreOptions(const EngineOptions& options) {
  core::CoreOptions core;
  for (const TierOptions& tier : options.tiers) {
    core.tiers.push_back({tier.name, tier.capacity_bytes, tier.landing == Landing::kBounce,
                          tier.shared, tier.window_bytes_max});
  }
  core.routing = options.routing;
  core.write = options.write;
  core.write.age_max = std::min(options.write.age_max, kDurationMax);
  core.write.idle_delay = std::min(options.write.idle_delay, kDurationMax);
  core.lease_ttl = std::min(options.lease_ttl, kDurationMax);
  core.hang_after = std::min(options.hang_after, kDurationMax);
  core.bounce_blocks = options.bounce_bytes / chunk::kBlockBytes;
  core.seed = RandomSeed();
  return core;
}

void WarnAboutSharedDevices(EngineState& state) {
  for (size_t a = 0; a < state.tiers.size(); ++a) {
    for (size_t b = a + 1; b < state.tiers.size(); ++b) {
      const OpenTier& first = *state.tiers[a];
      const OpenTier& second = *state.tiers[b];
      if (!tier::TierDirectory::SameDevice(*first.directory, *second.directory)) continue;
      state.logger.Log(LogLevel::kWarning,
                       fmt::format("tiers {} and {} are on one device: no gain to expect from both",
                                   first.name, second.name));
    }
  }
}

/// Feeds what a scan finds to the core.
class CoreScanSink final : public tier::ScanSink {
 public:
  CoreScanSink(EngineState& state, uint32_t index) : state_(state), index_(index) {}

  void OnChunks(std::span<tier::ScannedChunk> chunks) override {
    std::vector<core::FoundChunk> found;
    for (tier::ScannedChunk& chunk : chunks) {
      const auto ns = state_.namespaces.IdOf(chunk.footer.fingerprint);
      if (!ns) continue;
      found.push_back({std::move(chunk.footer.meta), chunk.owned});
      found.back().meta.mutable_meta().ns = *ns;
    }
    state_.core.Call([&](core::Core& core, TimePoint now) { core.AddFound(index_, found, now); });
  }

 private:
  EngineState& state_;
  const uint32_t index_;
};

void ScanTier(EngineState& state, uint32_t index) {
  OpenTier& tier = *state.tiers[index];
  state.core.Call([&](core::Core& core, TimePoint) { core.ScanBegins(index); });
  CoreScanSink sink(state, index);
  const auto report = tier.directory->Scan(sink, state.stop_scans.get_token());
  const bool complete = report && !report->stopped;
  state.core.Call([&](core::Core& core, TimePoint now) {
    core.ScanEnds(index, complete, now);
    if (complete) core.SetReady(index, now);
  });
  if (complete) {
    tier.scanned = true;
    state.logger.Log(LogLevel::kInfo,
                     fmt::format("tier {}: scan found {} chunks, removed {} temporary files and {} "
                                 "broken ones, left {} unknown",
                                 tier.name, report->chunks, report->temps_removed,
                                 report->broken_removed, report->unknown_left));
  } else if (!report) {
    state.logger.Log(LogLevel::kError,
                     fmt::format("tier {}: scan failed, nothing will be written there: {}",
                                 tier.name, report.error().ToString()));
  }
}

}  // namespace

Result<std::shared_ptr<EngineState>> OpenState(const EngineOptions& options) {
  KVS_TRY(CheckOptions(options));
  io::PosixFileSystem files;
  EngineOptions resolved = options;
  KVS_TRY_ASSIGN(auto stage, io::BlockPool::Create(chunk::kBlockBytes,
                                                   options.write.stage_bytes / chunk::kBlockBytes));
  resolved.write.stage_bytes = options.write.stage_bytes / chunk::kBlockBytes * chunk::kBlockBytes;
  for (TierOptions& tier : resolved.tiers) {
    // What kAuto becomes is known only after the probe, which needs the directories checked first.
    if (tier.landing == Landing::kAuto) {
      uint64_t magic = 0;
      const int error = files.Magic(tier.directory.string(), &magic);
      const bool remote = error >= 0 && io::IsRemoteFileSystem(magic);
      tier.landing = remote ? Landing::kBounce : Landing::kDirect;
    }
  }
  KVS_TRY_ASSIGN(auto signal, EventSignal::Create());
  auto state = std::make_shared<EngineState>(resolved, ToCoreOptions(resolved), std::move(stage),
                                             std::move(signal));
  KVS_TRY_ASSIGN(auto directories, OpenDirectories(state->files, resolved));
  for (uint32_t index = 0; index < directories.size(); ++index) {
    state->tiers.push_back(std::make_unique<OpenTier>());
    state->tiers[index]->name = resolved.tiers[index].name;
    state->tiers[index]->directory = std::move(directories[index]);
    KVS_TRY_ASSIGN(const io::ProbeResult probe, ProbeTier(*state, resolved.tiers[index]));
    KVS_TRY(OpenLanes(*state, index, probe));
  }
  KVS_TRY(LoadSnapshots(*state));
  WarnAboutSharedDevices(*state);
  return state;
}

void StartScans(const std::shared_ptr<EngineState>& state) {
  for (uint32_t index = 0; index < state->tiers.size(); ++index) {
    if (!state->tiers[index]->needs_scan) {
      state->tiers[index]->scanned = true;
      state->core.Call([&](core::Core& core, TimePoint now) { core.SetReady(index, now); });
      continue;
    }
    const Status started = SpawnThread(state, "kvs-s-" + state->tiers[index]->name,
                                       [state, index] { ScanTier(*state, index); });
    if (!started) {
      state->logger.Log(LogLevel::kError,
                        fmt::format("tier {}: not scanned, nothing will be written there: {}",
                                    state->tiers[index]->name, started.error().ToString()));
    }
  }
}

tier::Snapshot CollectSnapshot(const core::Core& core, const NamespaceTable& namespaces,
                               uint32_t tier) {
  tier::Snapshot snapshot;
  snapshot.fingerprints = namespaces.All();
  core.index().VisitCopies(tier, [&](core::Slot slot) {
    const auto& entry = core.index().entry(slot);
    snapshot.entries.push_back({entry.meta->ns, (entry.owned >> tier & 1) != 0, entry.meta});
  });
  return snapshot;
}

}  // namespace kvstream::engine
