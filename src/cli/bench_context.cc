#include "cli/bench_context.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "base/prng.h"
#include "base/units.h"
#include "cli/interrupt.h"

namespace kvstream::cli {
namespace {

ChunkKey BenchKey(std::string_view kind, uint64_t number) {
  const std::string text = std::to_string(number);
  const std::string_view parts[] = {"kvstream bench", kind, text};
  return ChunkKey::FromParts(parts);
}

TierMask AllTiers(size_t tiers) { return static_cast<TierMask>((1u << tiers) - 1); }

}  // namespace

BenchContext::BenchContext(const BenchOptions& options, Session& session, std::FILE* out)
    : options_(options),
      session_(session),
      out_(out),
      reader_(session.engine(), session.ns(), options.chunk_bytes),
      writer_(session.engine(), session.ns(), options.chunk_bytes) {
  for (uint32_t chunk = 0; chunk < options.chunks; ++chunk)
    keys_.push_back(BenchKey("step", chunk));
  for (const TierArg& tier : options.engine.tiers) tier_names_.push_back(tier.options.name);
}

Status BenchContext::Prepare() {
  KVS_TRY(reader_.Reserve(keys_.size()));
  KVS_TRY(WriteMissing());
  if (options_.evict) KVS_TRY(Evict(*options_.evict));
  return {};
}

// A chunk that lacks a copy somewhere is written anew: a put of a present chunk would add none.
Status BenchContext::WriteMissing() {
  std::vector<LookupResult> results(keys_.size());
  session_.engine().Lookup(session_.ns(), keys_, results);
  std::vector<ChunkKey> missing;
  for (size_t chunk = 0; chunk < keys_.size(); ++chunk) {
    if (results[chunk].tiers != AllTiers(tier_names_.size())) missing.push_back(keys_[chunk]);
  }
  if (missing.empty()) return {};
  fmt::print(out_, "writing {} chunks of {} to {} tiers\n", missing.size(),
             base::FormatBytes(options_.chunk_bytes), tier_names_.size());
  std::fflush(out_);
  KVS_TRY(session_.Remove(missing));
  KVS_TRY(writer_.WriteAndSettle(missing));
  session_.engine().Lookup(session_.ns(), keys_, results);
  for (size_t tier = 0; tier < tier_names_.size(); ++tier) {
    const auto absent = std::count_if(results.begin(), results.end(), [tier](const auto& result) {
      return (result.tiers >> tier & 1) == 0;
    });
    if (absent == 0) continue;
    return Error(ErrorCode::kNoSpace,
                 fmt::format("tier {} holds all chunks but {}; is its capacity "
                             "above {} and its age limit (--age) long enough?",
                             tier_names_[tier], absent, base::FormatBytes(step_bytes())));
  }
  return {};
}

Status BenchContext::Evict(const Eviction& eviction) {
  std::vector<ChunkKey> shuffled = keys_;
  base::Prng prng(options_.seed);
  for (size_t left = shuffled.size(); left > 1; --left) {
    std::swap(shuffled[left - 1], shuffled[prng.Below(left)]);
  }
  shuffled.resize(static_cast<size_t>(eviction.share * static_cast<double>(shuffled.size()) + 0.5));
  session_.engine().Remove(session_.ns(), shuffled, static_cast<TierMask>(1u << eviction.tier));
  fmt::print(out_, "took {} of {} copies from tier {} (seed {})\n", shuffled.size(), keys_.size(),
             tier_names_[eviction.tier], options_.seed);
  return session_.Flush();
}

void BenchContext::Pause() const {
  SleepInterruptibly(options_.idle);
  if (options_.align <= std::chrono::nanoseconds{0}) return;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  SleepInterruptibly(options_.align - std::chrono::nanoseconds(now) % options_.align);
}

Result<ReadSample> BenchContext::Read() {
  std::vector<LookupResult> results(keys_.size());
  const LeaseId lease = session_.engine().Lookup(session_.ns(), keys_, results, true);
  Pause();
  KVS_TRY_ASSIGN(ReadSample sample, reader_.Read(keys_, {lease, options_.engine.deadline}));
  session_.engine().ForwardBegan();
  KVS_TRY(reader_.Verify(keys_));
  return sample;
}

HolderBytes BenchContext::Holders() {
  std::vector<LookupResult> results(keys_.size());
  session_.engine().Lookup(session_.ns(), keys_, results);
  HolderBytes holders(tier_names_.size());
  for (const LookupResult& result : results) holders.Add(result.tiers, options_.chunk_bytes);
  return holders;
}

Result<std::vector<RawTier>> BenchContext::RawTiers() const {
  const Stats stats = session_.engine().GetStats();
  std::vector<RawTier> tiers;
  for (size_t tier = 0; tier < tier_names_.size(); ++tier) {
    const TierOptions& options = options_.engine.tiers[tier].options;
    RawTier raw;
    raw.name = tier_names_[tier];
    // As the engine has chosen.
    raw.backend = stats.tiers[tier].backend.starts_with("io_uring") ? BackendKind::kUring
                                                                    : BackendKind::kThreads;
    raw.shape = options.shape;
    KVS_TRY_ASSIGN(raw.files, FindChunkFiles(options.directory, options_.chunk_bytes));
    tiers.push_back(std::move(raw));
  }
  return tiers;
}

ChunkKey BenchContext::FreshKey() { return BenchKey("fresh", fresh_keys_++); }

}  // namespace kvstream::cli
