#include "kvstream/engine.h"

#include <poll.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "kvstream/buffer.h"

#include "base/prng.h"
#include "testing/temp_dir.h"

namespace kvstream {
namespace {

using std::chrono::steady_clock;

TimePoint In(std::chrono::milliseconds delay) { return steady_clock::now() + delay; }

ChunkKey KeyOf(uint64_t number) {
  const std::string text = std::to_string(number);
  const std::string_view part = text;
  return ChunkKey::FromParts({&part, 1});
}

/// The bytes of chunk `number` in version `version`.
std::vector<std::byte> PayloadOf(uint64_t number, size_t bytes, uint64_t version = 0) {
  std::vector<std::byte> payload(bytes);
  base::Prng random(number * 1000003 + version);
  for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    const uint64_t word = random.Next();
    std::memcpy(payload.data() + at, &word, std::min(sizeof(word), bytes - at));
  }
  return payload;
}

class EngineTest : public testing::Test {
 protected:
  EngineTest() {
    options_.owner = "test";
    options_.write.stage_bytes = 64 * kMiB;
    options_.bounce_bytes = 32 * kMiB;
    for (const char* name : {"fast", "slow"}) {
      std::filesystem::create_directory(dir_.path() / name);
      TierOptions tier;
      tier.name = name;
      tier.directory = dir_.path() / name;
      tier.capacity_bytes = 256 * kMiB;
      options_.tiers.push_back(tier);
    }
  }

  void Open() {
    auto engine = Engine::Open(options_);
    ASSERT_TRUE(engine.has_value()) << engine.error().ToString();
    engine_ = *std::move(engine);
    Identity identity;
    identity.model = "test-model";
    const auto ns = engine_->OpenNamespace(identity, In(std::chrono::seconds(10)));
    ASSERT_TRUE(ns.has_value()) << ns.error().ToString();
    ns_ = *ns;
  }

  void Reopen() {
    engine_->Close(In(std::chrono::seconds(10)));
    engine_.reset();
    Open();
  }

  WriteAccept Put(uint64_t number, size_t bytes, uint64_t version = 0, bool replace = false) {
    const std::vector<std::byte> payload = PayloadOf(number, bytes, version);
    const std::span<const std::byte> segment = payload;
    const WriteItem item{KeyOf(number), {&segment, 1}};
    WriteJobOptions options;
    options.replace = replace;
    const auto ticket = engine_->Write(ns_, {&item, 1}, options);
    EXPECT_TRUE(ticket.has_value());
    return ticket->accepted[0];
  }

  void Flush() {
    const Status flushed = engine_->Flush(In(std::chrono::seconds(20)));
    ASSERT_TRUE(flushed.has_value()) << flushed.error().ToString();
  }

  /// Reads one chunk into memory at an odd address and compares it; the miss reason.
  MissReason Get(uint64_t number, size_t bytes, uint64_t version = 0, size_t skew = 1) {
    std::vector<std::byte> memory(bytes + skew, std::byte{0xAA});
    const std::span<std::byte> segment(memory.data() + skew, bytes);
    const ReadItem item{KeyOf(number), {&segment, 1}};
    const auto job = engine_->Read(ns_, {&item, 1}, {.deadline = In(std::chrono::seconds(20))});
    EXPECT_TRUE(job.has_value());
    const auto last = engine_->Wait(*job, In(std::chrono::seconds(30)));
    EXPECT_TRUE(last.has_value()) << last.error().ToString();
    for (const Event& event : engine_->Poll()) {
      if (event.kind != Event::Kind::kChunkRead || event.job != *job) continue;
      if (!event.ok) return event.miss;
      const std::vector<std::byte> expected = PayloadOf(number, bytes, version);
      EXPECT_EQ(std::memcmp(segment.data(), expected.data(), bytes), 0) << "chunk " << number;
    }
    return MissReason::kNone;
  }

  LookupResult Find(uint64_t number) {
    const ChunkKey key = KeyOf(number);
    LookupResult result;
    engine_->Lookup(ns_, {&key, 1}, {&result, 1});
    return result;
  }

  std::vector<std::filesystem::path> Files(const char* tier, const std::string& extension) const {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_.path() / tier)) {
      if (entry.is_regular_file() && entry.path().extension() == extension) {
        files.push_back(entry.path());
      }
    }
    return files;
  }

  test::TempDir dir_;
  EngineOptions options_;
  std::unique_ptr<Engine> engine_;
  NamespaceId ns_ = 0;
};

TEST_F(EngineTest, ReturnsWhatWasPutWhateverTheLength) {
  Open();
  const std::vector<size_t> lengths = {1,    4095,     4096,     4097,          kMiB - 1,
                                       kMiB, kMiB + 1, 5 * kMiB, 8 * kMiB + 13, 3 * kMiB + 4096};
  for (size_t i = 0; i < lengths.size(); ++i) EXPECT_EQ(Put(i, lengths[i]), WriteAccept::kStaged);
  for (size_t i = 0; i < lengths.size(); ++i) EXPECT_EQ(Get(i, lengths[i]), MissReason::kNone);
  Flush();
  for (size_t i = 0; i < lengths.size(); ++i) {
    EXPECT_EQ(Find(i).tiers, 0b11) << "length " << lengths[i];
    EXPECT_FALSE(Find(i).staged);
    EXPECT_EQ(Get(i, lengths[i]), MissReason::kNone) << "length " << lengths[i];
    EXPECT_EQ(Get(i, lengths[i], 0, 0), MissReason::kNone) << "length " << lengths[i];
  }
}

TEST_F(EngineTest, AMissIsAResultThatSaysWhy) {
  Open();
  EXPECT_EQ(Get(7, 4096), MissReason::kUnknown);
  Put(7, 4096);
  Flush();
  EXPECT_EQ(Get(7, 8192), MissReason::kLength);
}

TEST_F(EngineTest, APutIsReadableAtOnceAndTheCallersMemoryIsFree) {
  Open();
  std::vector<std::byte> payload = PayloadOf(1, 2 * kMiB);
  const std::span<const std::byte> segment = payload;
  const WriteItem item{KeyOf(1), {&segment, 1}};
  engine_->StepBegin();  // keeps the write in the stage
  ASSERT_TRUE(engine_->Write(ns_, {&item, 1}).has_value());
  std::memset(payload.data(), 0, payload.size());
  EXPECT_TRUE(Find(1).staged);
  EXPECT_EQ(Get(1, 2 * kMiB), MissReason::kNone);
  Flush();
  EXPECT_EQ(Get(1, 2 * kMiB), MissReason::kNone);
}

TEST_F(EngineTest, BorrowedMemoryComesBackWithTheSettledEvent) {
  Open();
  const std::vector<std::byte> payload = PayloadOf(1, 2 * kMiB + 77);
  const std::array<std::span<const std::byte>, 2> segments = {std::span(payload).first(1000),
                                                              std::span(payload).subspan(1000)};
  const WriteItem item{KeyOf(1), segments};
  const auto ticket = engine_->Write(ns_, {&item, 1}, {.mode = WriteMode::kBorrow});
  ASSERT_TRUE(ticket.has_value());
  const auto last = engine_->Wait(ticket->job, In(std::chrono::seconds(20)));
  ASSERT_TRUE(last.has_value());
  EXPECT_TRUE(last->ok);
  EXPECT_EQ(Get(1, 2 * kMiB + 77), MissReason::kNone);
}

TEST_F(EngineTest, PuttingAPresentChunkWritesNothing) {
  Open();
  Put(1, kMiB);
  Flush();
  EXPECT_EQ(Put(1, kMiB, /*version=*/1), WriteAccept::kAlreadyPresent);
  EXPECT_EQ(Get(1, kMiB, 0), MissReason::kNone);
}

TEST_F(EngineTest, AReplacedChunkNeverShowsItsOldBytes) {
  Open();
  Put(1, kMiB);
  Flush();
  for (uint64_t version = 1; version < 6; ++version) {
    EXPECT_EQ(Put(1, kMiB, version, /*replace=*/true), WriteAccept::kStaged);
    EXPECT_EQ(Get(1, kMiB, version), MissReason::kNone);
    if (version % 2 == 0) Flush();
  }
  Flush();
  EXPECT_EQ(Get(1, kMiB, 5), MissReason::kNone);
  EXPECT_EQ(Put(1, 3 * kMiB, 9), WriteAccept::kStaged) << "another length replaces too";
  Flush();
  EXPECT_EQ(Get(1, 3 * kMiB, 9), MissReason::kNone);
  EXPECT_EQ(Files("fast", ".kv").size(), 1u);
}

TEST_F(EngineTest, ARestartKeepsTheCache) {
  Open();
  for (uint64_t i = 0; i < 8; ++i) Put(i, kMiB + i);
  Reopen();
  EXPECT_EQ(engine_->GetStats().index_chunks, 8u);
  for (uint64_t i = 0; i < 8; ++i) EXPECT_EQ(Get(i, kMiB + i), MissReason::kNone);
}

TEST_F(EngineTest, AScanFindsEverythingWhenThereIsNoSnapshot) {
  Open();
  for (uint64_t i = 0; i < 8; ++i) Put(i, kMiB + i);
  engine_->Close(In(std::chrono::seconds(10)));
  engine_.reset();
  for (const char* tier : {"fast", "slow"}) {
    for (const auto& entry :
         std::filesystem::directory_iterator(dir_.path() / tier / ".kvstream" / "owners")) {
      if (entry.path().string().find("snapshot") != std::string::npos) {
        std::filesystem::remove(entry.path());
      }
    }
  }
  Open();
  const TimePoint give_up = In(std::chrono::seconds(20));
  while (engine_->GetStats().tiers[1].chunks < 8 || engine_->GetStats().tiers[0].chunks < 8) {
    ASSERT_LT(steady_clock::now(), give_up);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (uint64_t i = 0; i < 8; ++i) EXPECT_EQ(Get(i, kMiB + i), MissReason::kNone);
}

TEST_F(EngineTest, ANamespaceThatATierHasLostIsMadeAgain) {
  Open();
  for (const auto& entry : std::filesystem::directory_iterator(dir_.path() / "slow")) {
    if (entry.path().filename() != ".kvstream") std::filesystem::remove_all(entry.path());
  }
  Put(1, kMiB);
  Flush();
  EXPECT_EQ(Find(1).tiers, 0b11);
  Reopen();
  EXPECT_EQ(Find(1).tiers, 0b11);
}

TEST_F(EngineTest, ACorruptCopyIsReadFromTheOtherTierAndDropped) {
  Open();
  Put(1, 4 * kMiB);
  Flush();
  const auto files = Files("fast", ".kv");
  ASSERT_EQ(files.size(), 1u);
  {
    std::fstream file(files[0], std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(2 * kMiB + 5);
    const auto original = static_cast<char>(PayloadOf(1, 4 * kMiB)[2 * kMiB + 5]);
    file.put(static_cast<char>(original ^ 1));
  }
  ASSERT_TRUE(engine_->SetRouting({.policy = Policy::kSingleTier, .tier = 0, .shares = {}}));
  EXPECT_EQ(Get(1, 4 * kMiB), MissReason::kNone);
  const Stats stats = engine_->GetStats();
  EXPECT_EQ(stats.tiers[0].corrupt_blocks, 1u);
  EXPECT_EQ(Find(1).tiers, 0b10);
}

TEST_F(EngineTest, WithoutAnotherCopyABadOneIsAMissAndANewPutWorks) {
  options_.tiers.pop_back();
  Open();
  Put(1, 4 * kMiB);
  Put(2, 4 * kMiB);
  Flush();
  for (const auto& file : Files("fast", ".kv")) std::filesystem::resize_file(file, 1000);
  EXPECT_EQ(Get(1, 4 * kMiB), MissReason::kLost);
  EXPECT_FALSE(Find(1).hit());
  EXPECT_EQ(Put(1, 4 * kMiB), WriteAccept::kStaged);
  Flush();
  EXPECT_EQ(Get(1, 4 * kMiB), MissReason::kNone);
}

TEST_F(EngineTest, CapacityHoldsAndTheOldestGo) {
  options_.tiers[0].capacity_bytes = 10 * (kMiB + 4096);
  Open();
  for (uint64_t i = 0; i < 30; ++i) {
    Put(i, kMiB);
    if (i % 4 == 0) Flush();
    EXPECT_LE(engine_->GetStats().tiers[0].used_bytes, options_.tiers[0].capacity_bytes);
  }
  Flush();
  EXPECT_EQ(engine_->GetStats().tiers[0].chunks, 10u);
  EXPECT_LE(Files("fast", ".kv").size(), 10u);
  EXPECT_EQ(Find(29).tiers, 0b11);
  EXPECT_EQ(Find(0).tiers, 0b10);
  for (uint64_t i = 0; i < 30; ++i) EXPECT_EQ(Get(i, kMiB), MissReason::kNone);
}

TEST_F(EngineTest, ALeaseKeepsItsChunksFromEviction) {
  options_.tiers.pop_back();
  options_.tiers[0].capacity_bytes = 4 * (kMiB + 4096);
  Open();
  Put(0, kMiB);
  Flush();
  const ChunkKey key = KeyOf(0);
  LookupResult result;
  const LeaseId lease = engine_->Lookup(ns_, {&key, 1}, {&result, 1}, /*lease=*/true);
  ASSERT_NE(lease, 0u);
  for (uint64_t i = 1; i < 9; ++i) {
    Put(i, kMiB);
    Flush();
  }
  EXPECT_TRUE(Find(0).hit());
  engine_->Release(lease);
  for (uint64_t i = 9; i < 14; ++i) {
    Put(i, kMiB);
    Flush();
  }
  EXPECT_FALSE(Find(0).hit());
}

TEST_F(EngineTest, AFullStageDropsTheNewestAndCountsIt) {
  options_.write.stage_bytes = 4 * kMiB;
  options_.write.high_water = 1.0;
  Open();
  engine_->StepBegin();
  for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(Put(i, kMiB), WriteAccept::kStaged);
  EXPECT_EQ(Put(4, kMiB), WriteAccept::kDropped);
  EXPECT_EQ(engine_->GetStats().dropped_chunks[static_cast<size_t>(DropReason::kStageFull)], 1u);
}

TEST_F(EngineTest, AWriteThatMayWaitFindsRoom) {
  options_.write.stage_bytes = 4 * kMiB;
  options_.write.full = StageFull::kWait;
  Open();
  for (uint64_t i = 0; i < 20; ++i) {
    const std::vector<std::byte> payload = PayloadOf(i, kMiB);
    const std::span<const std::byte> segment = payload;
    const WriteItem item{KeyOf(i), {&segment, 1}};
    const auto ticket = engine_->Write(ns_, {&item, 1}, {.deadline = In(std::chrono::seconds(20))});
    ASSERT_TRUE(ticket.has_value());
    EXPECT_EQ(ticket->accepted[0], WriteAccept::kStaged);
  }
  Flush();
  for (uint64_t i = 0; i < 20; ++i) EXPECT_EQ(Get(i, kMiB), MissReason::kNone);
}

TEST_F(EngineTest, EventFdIsReadableWhileEventsWait) {
  Open();
  Put(1, kMiB);
  Flush();
  static_cast<void>(engine_->Poll());
  pollfd descriptor{engine_->event_fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&descriptor, 1, 0), 0);
  std::vector<std::byte> memory(kMiB);
  const std::span<std::byte> segment = memory;
  const ReadItem item{KeyOf(1), {&segment, 1}};
  const auto job = engine_->Read(ns_, {&item, 1});
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(::poll(&descriptor, 1, 20000), 1);
  EXPECT_TRUE(engine_->Wait(*job, In(std::chrono::seconds(20))).has_value());
}

TEST_F(EngineTest, ALargeStepOnTwoTiersIsReadOnceAndFromBoth) {
  Open();
  constexpr uint64_t kChunks = 40;
  for (uint64_t i = 0; i < kChunks; ++i) {
    Put(i, 4 * kMiB);
    if (i % 10 == 9) Flush();
  }
  auto buffer = Buffer::Allocate(kChunks * 4 * kMiB);
  ASSERT_TRUE(buffer.has_value());
  std::vector<std::span<std::byte>> segments(kChunks);
  std::vector<ReadItem> items;
  for (uint64_t i = 0; i < kChunks; ++i) {
    segments[i] = buffer->span().subspan(i * 4 * kMiB, 4 * kMiB);
    items.push_back({KeyOf(i), {&segments[i], 1}});
  }
  const auto job = engine_->Read(ns_, items);
  ASSERT_TRUE(job.has_value());
  const auto last = engine_->Wait(*job, In(std::chrono::seconds(60)));
  ASSERT_TRUE(last.has_value());
  EXPECT_TRUE(last->ok);
  EXPECT_EQ(last->bytes, kChunks * 4 * kMiB);
  std::vector<uint32_t> ready(kChunks, 0);
  for (const Event& event : engine_->Poll()) {
    if (event.kind == Event::Kind::kChunkRead) ++ready[event.item];
  }
  for (uint64_t i = 0; i < kChunks; ++i) {
    EXPECT_EQ(ready[i], 1u);
    const auto expected = PayloadOf(i, 4 * kMiB);
    EXPECT_EQ(std::memcmp(segments[i].data(), expected.data(), expected.size()), 0);
  }
  const Stats stats = engine_->GetStats();
  EXPECT_GT(stats.tiers[0].read_bytes, 0u);
  EXPECT_GT(stats.tiers[1].read_bytes, 0u);
}

TEST_F(EngineTest, ClosingWithoutTimeDropsWhatIsStagedAndNothingElse) {
  for (TierOptions& tier : options_.tiers) tier.shape.write_bytes_per_second = 4 * kMiB;
  for (int round = 0; round < 5; ++round) {
    Open();
    for (uint64_t i = 0; i < 4; ++i) Put(i, 3 * kMiB + 5, 0, /*replace=*/true);
    engine_->Close(In(std::chrono::milliseconds(round)));
    engine_.reset();
    // The lanes end by themselves; only then the owner's name is free again.
    const TimePoint give_up = In(std::chrono::seconds(30));
    auto reopened = Engine::Open(options_);
    while (!reopened && reopened.error().code() == ErrorCode::kBusy &&
           steady_clock::now() < give_up) {
      reopened = Engine::Open(options_);
    }
    ASSERT_TRUE(reopened.has_value()) << reopened.error().ToString();
    (*reopened)->Close(In(std::chrono::seconds(10)));
  }
}

TEST_F(EngineTest, AfterCloseCallsAreRefusedAndReadsOfARacerMiss) {
  Open();
  Put(1, kMiB);
  engine_->Close(In(std::chrono::seconds(10)));
  const WriteItem nothing{};
  EXPECT_EQ(engine_->Write(ns_, {&nothing, 0}).error().code(), ErrorCode::kShutdown);
  EXPECT_EQ(engine_->Read(ns_, {}).error().code(), ErrorCode::kShutdown);
  EXPECT_EQ(engine_->Flush(In(std::chrono::seconds(1))).error().code(), ErrorCode::kShutdown);
  EXPECT_EQ(engine_->Wait(12345, In(std::chrono::seconds(1))).error().code(), ErrorCode::kShutdown);
  Identity identity;
  identity.model = "late";
  EXPECT_EQ(engine_->OpenNamespace(identity).error().code(), ErrorCode::kShutdown);
}

TEST_F(EngineTest, OpenRefusesBadOptionsWithAMessage) {
  options_.tiers[1].directory = options_.tiers[0].directory;
  auto engine = Engine::Open(options_);
  ASSERT_FALSE(engine.has_value());
  EXPECT_EQ(engine.error().code(), ErrorCode::kInvalidArgument);
  options_.tiers[1].directory = dir_.path() / "nowhere";
  engine = Engine::Open(options_);
  ASSERT_FALSE(engine.has_value());
  EXPECT_EQ(engine.error().code(), ErrorCode::kNotFound);
  EngineOptions negative = options_;
  negative.hang_after = std::chrono::seconds(-1);
  engine = Engine::Open(negative);
  ASSERT_FALSE(engine.has_value());
  EXPECT_NE(engine.error().ToString().find("hang_after"), std::string::npos);
  options_.tiers.clear();
  EXPECT_FALSE(Engine::Open(options_).has_value());
}

TEST_F(EngineTest, TheLongestDurationsMeanNever) {
  options_.write.age_max = options_.write.idle_delay = std::chrono::nanoseconds::max();
  options_.lease_ttl = options_.hang_after = std::chrono::nanoseconds::max();
  Open();
  Put(1, kMiB);
  Flush();
  EXPECT_EQ(Get(1, kMiB), MissReason::kNone);
}

TEST_F(EngineTest, ASecondEngineWithTheSameOwnerIsToldWhoHoldsIt) {
  Open();
  const auto second = Engine::Open(options_);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code(), ErrorCode::kBusy);
}

TEST_F(EngineTest, AnotherOwnerReadsWhatItDiscovers) {
  for (TierOptions& tier : options_.tiers) tier.shared = true;
  Open();
  EngineOptions other = options_;
  other.owner = "other";
  auto second = Engine::Open(other);
  ASSERT_TRUE(second.has_value()) << second.error().ToString();
  Identity identity;
  identity.model = "test-model";
  const auto ns = (*second)->OpenNamespace(identity);
  ASSERT_TRUE(ns.has_value());
  Put(1, kMiB);
  Flush();
  const ChunkKey key = KeyOf(1);
  const auto job = (*second)->LookupAsync(*ns, {&key, 1}, /*discover=*/true, /*lease=*/false);
  ASSERT_TRUE(job.has_value());
  ASSERT_TRUE((*second)->Wait(*job, In(std::chrono::seconds(20))).has_value());
  const auto found = (*second)->TakeLookup(*job);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->results[0].tiers, 0b11);
  std::swap(engine_, *second);
  EXPECT_EQ(Get(1, kMiB), MissReason::kNone);
  EXPECT_EQ(engine_->GetStats().tiers[0].used_bytes, 0u);
}

}  // namespace
}  // namespace kvstream
