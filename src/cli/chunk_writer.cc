#include "cli/chunk_writer.h"

#include <algorithm>
#include <vector>

#include "cli/payload.h"

namespace kvstream::cli {
namespace {

constexpr uint64_t kBatchBytes = 64 * kMiB;
constexpr std::chrono::minutes kSettleLimit{2};
constexpr std::chrono::seconds kRoomLimit{10};  // with StageFull::kWait

}  // namespace

size_t ChunkWriter::BatchChunks() const {
  return static_cast<size_t>(std::max<uint64_t>(1, kBatchBytes / chunk_bytes_));
}

Status ChunkWriter::WriteBatch(std::span<const ChunkKey> keys, WriteCounts* counts) {
  scratch_.resize(BatchChunks() * chunk_bytes_);
  std::vector<std::span<const std::byte>> segments;
  std::vector<WriteItem> items;
  segments.reserve(keys.size());
  for (size_t item = 0; item < keys.size(); ++item) {
    const auto payload = std::span(scratch_).subspan(item * chunk_bytes_, chunk_bytes_);
    FillPayload(keys[item], 0, payload);
    segments.push_back(payload);
    items.push_back({keys[item], {&segments.back(), 1}});
  }
  const auto begin = std::chrono::steady_clock::now();
  const WriteJobOptions options{.deadline = begin + kRoomLimit};
  KVS_TRY_ASSIGN(const WriteTicket ticket, engine_.Write(ns_, items, options));
  counts->held += std::chrono::steady_clock::now() - begin;
  for (WriteAccept accept : ticket.accepted) {
    counts->staged += accept == WriteAccept::kStaged ? 1 : 0;
    counts->present += accept == WriteAccept::kAlreadyPresent ? 1 : 0;
    counts->dropped += accept == WriteAccept::kDropped ? 1 : 0;
  }
  return {};
}

Result<WriteCounts> ChunkWriter::Write(std::span<const ChunkKey> keys) {
  WriteCounts counts;
  for (size_t begin = 0; begin < keys.size(); begin += BatchChunks()) {
    KVS_TRY(WriteBatch(keys.subspan(begin, std::min(BatchChunks(), keys.size() - begin)), &counts));
  }
  return counts;
}

Result<WriteCounts> ChunkWriter::WriteAndSettle(std::span<const ChunkKey> keys) {
  WriteCounts counts;
  for (size_t begin = 0; begin < keys.size(); begin += BatchChunks()) {
    KVS_TRY(WriteBatch(keys.subspan(begin, std::min(BatchChunks(), keys.size() - begin)), &counts));
    KVS_TRY(engine_.Flush(std::chrono::steady_clock::now() + kSettleLimit));
  }
  engine_.Poll();  // the events of these writes; `counts` has said it all
  return counts;
}

}  // namespace kvstream::cli
