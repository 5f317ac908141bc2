#include "route/router.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"

namespace kvstream::route {

Router::Router(const RoutingOptions& options, uint32_t tier_count)
    : options_(options),
      tier_count_(tier_count),
      usable_(static_cast<TierMask>((1u << tier_count) - 1)) {
  KVS_ASSERT(tier_count >= 1 && tier_count <= kTiersMax);
}

void Router::AddJob(JobId id, std::span<const PoolChunk> chunks) {
  KVS_ASSERT(jobs_.empty() || jobs_.rbegin()->first < id);
  Job& job = jobs_[id];
  job.chunks.assign(chunks.begin(), chunks.end());
  Assign(options_, tier_count_, job.chunks);
  for (const PoolChunk& chunk : job.chunks) Insert(job, {chunk.item, 0, chunk.block_count});
}

void Router::RemoveJob(JobId id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return;
  for (const HolderClass& held : found->second.classes) Account(held.mask, held.bytes, false);
  jobs_.erase(found);
}

void Router::RemoveChunk(JobId id, uint32_t item) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return;
  Job& job = found->second;
  for (HolderClass& held : job.classes) {
    std::erase_if(held.ranges, [&](const Range& range) {
      if (range.item != item) return false;
      Take(held, ChunkOf(job, item), range.first_block, range.block_count);
      return true;
    });
  }
}

void Router::Return(const Claim& claim, TierMask holders) {
  const auto found = jobs_.find(claim.job);
  KVS_ASSERT(found != jobs_.end());
  Job& job = found->second;
  PoolChunk& chunk = ChunkOf(job, claim.item);
  if (chunk.holders != holders) {
    chunk.readers = Reassign(options_, chunk, holders);
    chunk.holders = holders;
    Rebuild(job);  // the chunk's other unread pieces change class too
  }
  Insert(job, {claim.item, claim.first_block, claim.block_count});
}

const Router::HolderClass* Router::Next(uint32_t tier, JobId* job) const {
  const HolderClass* best = nullptr;
  if (claimable_bytes_[tier] == 0) return best;
  for (const auto& [id, candidate] : jobs_) {
    const HolderClass* rarest = RarestFor(candidate, tier);
    if (rarest == nullptr) continue;
    if (best == nullptr || std::popcount(rarest->mask) < std::popcount(best->mask)) {
      *job = id;
      best = rarest;
    }
    if (options_.order == PoolOrder::kJob) break;
  }
  KVS_ASSERT(best != nullptr);
  return best;
}

TierMask Router::NextReaders(uint32_t tier) const {
  JobId job = 0;
  const HolderClass* next = Next(tier, &job);
  return next == nullptr ? TierMask{0} : next->mask;
}

bool Router::ClaimNext(uint32_t tier, uint64_t bytes_max, Claim* claim) {
  JobId id = 0;
  const HolderClass* next = Next(tier, &id);
  if (next == nullptr) return false;
  Job& job = jobs_.at(id);
  *claim = TakeFrom(id, job, ClassOf(job, next->mask), tier, bytes_max);
  return true;
}

void Router::SetUsableTiers(TierMask usable) {
  if (usable == usable_) return;
  usable_ = usable;
  for (auto& [id, job] : jobs_) {
    for (PoolChunk& chunk : job.chunks) {
      const auto alive = static_cast<TierMask>(chunk.holders & usable_);
      if ((chunk.readers & usable_) == 0 && alive != 0) {
        chunk.readers = Reassign(options_, chunk, alive);
      }
    }
    Rebuild(job);
  }
}

std::vector<Claim> Router::TakeStranded() {
  std::vector<Claim> stranded;
  for (auto& [id, job] : jobs_) {
    HolderClass& nobody = ClassOf(job, 0);
    for (const Range& range : nobody.ranges) {
      const PoolChunk& chunk = ChunkOf(job, range.item);
      const uint64_t bytes = RangeBytes(chunk, range.first_block, range.block_count);
      stranded.push_back({id, range.item, range.first_block, range.block_count, bytes});
    }
    Account(0, nobody.bytes, false);
    nobody.ranges.clear();
    nobody.bytes = 0;
  }
  return stranded;
}

Router::HolderClass& Router::ClassOf(Job& job, TierMask mask) {
  const auto found = std::ranges::find(job.classes, mask, &HolderClass::mask);
  if (found != job.classes.end()) return *found;
  job.classes.push_back({mask, {}, 0});
  return job.classes.back();
}

const Router::HolderClass* Router::RarestFor(const Job& job, uint32_t tier) {
  const HolderClass* best = nullptr;
  for (const HolderClass& held : job.classes) {
    if ((held.mask >> tier & 1) == 0 || held.ranges.empty()) continue;
    const int holders = std::popcount(held.mask);
    const int best_holders = best == nullptr ? 0 : std::popcount(best->mask);
    if (best == nullptr || holders < best_holders ||
        (holders == best_holders && held.bytes > best->bytes)) {
      best = &held;
    }
  }
  return best;
}

void Router::Insert(Job& job, const Range& range) {
  const PoolChunk& chunk = ChunkOf(job, range.item);
  HolderClass& held = ClassOf(job, static_cast<TierMask>(chunk.readers & usable_));
  const auto before = [](const Range& a, const Range& b) {
    return a.item != b.item ? a.item < b.item : a.first_block < b.first_block;
  };
  held.ranges.insert(std::ranges::upper_bound(held.ranges, range, before), range);
  const uint64_t bytes = RangeBytes(chunk, range.first_block, range.block_count);
  held.bytes += bytes;
  Account(held.mask, bytes, true);
}

void Router::Take(HolderClass& from, const PoolChunk& chunk, uint32_t first_block, uint32_t count) {
  const uint64_t bytes = RangeBytes(chunk, first_block, count);
  KVS_ASSERT(from.bytes >= bytes);
  from.bytes -= bytes;
  Account(from.mask, bytes, false);
}

Claim Router::TakeFrom(JobId id, Job& job, HolderClass& from, uint32_t tier, uint64_t bytes_max) {
  const bool from_back = tier > 0 && tier + 1 == tier_count_;
  const size_t index = tier == 0   ? 0
                       : from_back ? from.ranges.size() - 1
                                   : from.ranges.size() * tier / (tier_count_ - 1);
  Range& range = from.ranges[index];
  const PoolChunk& chunk = ChunkOf(job, range.item);
  const uint64_t blocks_max = std::max<uint64_t>(1, bytes_max / chunk.block_bytes);
  const auto count = static_cast<uint32_t>(std::min<uint64_t>(range.block_count, blocks_max));
  const uint32_t first =
      from_back ? range.first_block + range.block_count - count : range.first_block;
  const Claim claim{id, range.item, first, count, RangeBytes(chunk, first, count)};
  Take(from, chunk, first, count);
  range.block_count -= count;
  if (!from_back) range.first_block += count;
  if (range.block_count == 0)
    from.ranges.erase(from.ranges.begin() + static_cast<ptrdiff_t>(index));
  return claim;
}

void Router::Rebuild(Job& job) {
  std::vector<HolderClass> old = std::move(job.classes);
  job.classes.clear();
  for (const HolderClass& held : old) {
    Account(held.mask, held.bytes, false);
    for (const Range& range : held.ranges) Insert(job, range);
  }
}

void Router::Account(TierMask mask, uint64_t bytes, bool add) {
  KVS_ASSERT(add || unread_bytes_ >= bytes);
  unread_bytes_ = add ? unread_bytes_ + bytes : unread_bytes_ - bytes;
  for (uint32_t tier = 0; tier < tier_count_; ++tier) {
    if ((mask >> tier & 1) == 0) continue;
    claimable_bytes_[tier] = add ? claimable_bytes_[tier] + bytes : claimable_bytes_[tier] - bytes;
  }
}

PoolChunk& Router::ChunkOf(Job& job, uint32_t item) {
  const auto found = std::ranges::lower_bound(job.chunks, item, {}, &PoolChunk::item);
  KVS_ASSERT(found != job.chunks.end() && found->item == item);
  return *found;
}

uint64_t Router::RangeBytes(const PoolChunk& chunk, uint32_t first_block, uint32_t count) {
  const uint64_t begin = uint64_t{first_block} * chunk.block_bytes;
  const uint64_t end = begin + uint64_t{count} * chunk.block_bytes;
  return std::min(end, chunk.payload_bytes) - begin;
}

}  // namespace kvstream::route
