#include "tier/snapshot.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/assert.h"
#include "chunk/crc32c.h"
#include "chunk/footer.h"
#include "chunk/format.h"
#include "chunk/path.h"

namespace kvstream::tier {
namespace {

constexpr std::array<char, 8> kMagic = {'K', 'V', 'S', 'I', 'N', 'D', 'E', 'X'};
constexpr uint32_t kHeaderBytes = 128;
constexpr uint32_t kKindFingerprints = 1;
constexpr uint32_t kKindEntries = 2;
/// A writer closes a section of entries when it has reached this.
constexpr size_t kSectionBytesSoft = size_t{1} << 20;
/// A reader refuses longer sections: what 65,536 fingerprints take.
constexpr size_t kSectionBytesMax = size_t{2} << 20;
constexpr uint64_t kFingerprintsMax = 65536;
constexpr uint32_t kFlagOwned = 1;

/// Magic, version and checksum keep their places in all versions.
struct __attribute__((packed)) HeaderWire {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t header_bytes;
  TierUuid uuid;
  std::array<char, chunk::kOwnerCharsMax + 1> owner;  // padded with zeros
  uint64_t entry_count;
  uint32_t fingerprint_count;
  std::array<std::byte, 16> reserved;  // zero
  uint32_t header_crc;                 // CRC-32C of all bytes before it
};

struct __attribute__((packed)) SectionWire {
  uint32_t kind;
  uint32_t payload_bytes;
  uint32_t item_count;
  uint32_t crc;  // CRC-32C of the three fields before it and the payload
};

/// Followed by block_count checksums of 4 bytes.
struct __attribute__((packed)) EntryWire {
  uint32_t fingerprint_index;
  uint32_t flags;
  std::array<std::byte, 32> key;
  uint64_t write_id;
  uint64_t generation_ns;
  uint64_t payload_bytes;
  uint32_t block_bytes;
  uint32_t block_count;
};

static_assert(offsetof(HeaderWire, uuid) == 16);
static_assert(offsetof(HeaderWire, owner) == 32);
static_assert(offsetof(HeaderWire, entry_count) == 96);
static_assert(offsetof(HeaderWire, fingerprint_count) == 104);
static_assert(offsetof(HeaderWire, header_crc) == 124);
static_assert(sizeof(HeaderWire) == kHeaderBytes);
static_assert(sizeof(SectionWire) == 16);
static_assert(offsetof(EntryWire, key) == 8);
static_assert(offsetof(EntryWire, payload_bytes) == 56);
static_assert(sizeof(EntryWire) == 72);
static_assert(kSectionBytesSoft + sizeof(EntryWire) + 4 * chunk::kBlocksMax <= kSectionBytesMax);
static_assert(kFingerprintsMax * sizeof(chunk::Fingerprint) <= kSectionBytesMax);
static_assert(sizeof(chunk::Fingerprint) == 32);

template <typename T>
std::span<const std::byte> BytesOf(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

uint32_t SectionCrc(const SectionWire& section, std::span<const std::byte> payload) {
  const uint32_t crc = chunk::Crc32c(BytesOf(section).first(offsetof(SectionWire, crc)));
  return chunk::ExtendCrc32c(crc, payload);
}

uint32_t HeaderCrc(const HeaderWire& header) {
  return chunk::Crc32c(BytesOf(header).first(offsetof(HeaderWire, header_crc)));
}

/// Appends sections to a file. The first error sticks.
class SectionWriter {
 public:
  SectionWriter(io::FileSystem& file_system, int fd) : file_system_(file_system), fd_(fd) {
    buffer_.reserve(kSectionBytesMax);
  }

  void Write(std::span<const std::byte> data) {
    if (result_ < 0) return;
    const int64_t written = file_system_.Write(fd_, data, offset_);
    if (written < 0) result_ = static_cast<int>(written);
    offset_ += data.size();
  }

  void Add(std::span<const std::byte> data) {
    buffer_.insert(buffer_.end(), data.begin(), data.end());
  }

  void EndItem() { ++item_count_; }

  void EndSection(uint32_t kind) {
    KVS_ASSERT(buffer_.size() <= kSectionBytesMax);
    SectionWire section = {kind, static_cast<uint32_t>(buffer_.size()), item_count_, 0};
    section.crc = SectionCrc(section, buffer_);
    Write(BytesOf(section));
    Write(buffer_);
    buffer_.clear();
    item_count_ = 0;
  }

  size_t section_bytes() const { return buffer_.size(); }
  int result() const { return result_; }

 private:
  io::FileSystem& file_system_;
  const int fd_;
  std::vector<std::byte> buffer_;
  uint32_t item_count_ = 0;
  uint64_t offset_ = 0;
  int result_ = 0;
};

HeaderWire MakeHeader(const SnapshotIdentity& identity, const Snapshot& snapshot) {
  KVS_ASSERT(chunk::IsOwnerName(identity.owner));
  KVS_ASSERT(snapshot.fingerprints.size() <= kFingerprintsMax);
  HeaderWire header = {};
  header.magic = kMagic;
  header.version = chunk::kFormatVersion;
  header.header_bytes = kHeaderBytes;
  header.uuid = identity.uuid;
  std::ranges::copy(identity.owner, header.owner.begin());
  header.entry_count = snapshot.entries.size();
  header.fingerprint_count = static_cast<uint32_t>(snapshot.fingerprints.size());
  header.header_crc = HeaderCrc(header);
  return header;
}

EntryWire MakeEntry(const SnapshotEntry& entry) {
  const chunk::ChunkMeta& meta = *entry.meta;
  EntryWire wire = {};
  wire.fingerprint_index = entry.fingerprint_index;
  wire.flags = entry.owned ? kFlagOwned : 0;
  wire.key = meta.key.bytes;
  wire.write_id = meta.write_id;
  wire.generation_ns = meta.generation_ns;
  wire.payload_bytes = meta.payload_bytes;
  wire.block_bytes = meta.block_bytes;
  wire.block_count = meta.block_count;
  return wire;
}

Error Corrupt(std::string_view what) {
  return Error(ErrorCode::kCorruption, fmt::format("snapshot: {}", what));
}

/// Reads a file from front to back, never beyond its end.
class SectionReader {
 public:
  SectionReader(io::FileSystem& file_system, int fd, uint64_t file_bytes)
      : file_system_(file_system), fd_(fd), left_(file_bytes) {}

  Status Read(std::span<std::byte> data) {
    if (data.size() > left_) return Corrupt("shorter than it says");
    const int64_t bytes = file_system_.Read(fd_, data, offset_);
    if (bytes < 0) {
      return Error(ErrorCode::kIo, "snapshot: read", static_cast<int>(-bytes));
    }
    if (static_cast<size_t>(bytes) != data.size()) return Corrupt("shorter than its size");
    offset_ += data.size();
    left_ -= data.size();
    return {};
  }

  /// The next section, which must be of `kind`; its payload is valid until the next call.
  Result<std::span<const std::byte>> Next(uint32_t kind, uint32_t* item_count) {
    SectionWire section;
    KVS_TRY(Read(std::as_writable_bytes(std::span(&section, 1))));
    const uint32_t payload_bytes = section.payload_bytes;
    if (payload_bytes > kSectionBytesMax)
      return Corrupt(fmt::format("section length at {}", offset_));
    buffer_.resize(payload_bytes);
    KVS_TRY(Read(buffer_));
    if (SectionCrc(section, buffer_) != section.crc) {
      return Corrupt(fmt::format("checksum of the section that ends at {}", offset_));
    }
    if (section.kind != kind) return Corrupt(fmt::format("section kind at {}", offset_));
    *item_count = section.item_count;
    return std::span<const std::byte>(buffer_);
  }

  uint64_t left() const { return left_; }

 private:
  io::FileSystem& file_system_;
  const int fd_;
  uint64_t left_;
  uint64_t offset_ = 0;
  std::vector<std::byte> buffer_;
};

Status CheckIdentity(const HeaderWire& header, const SnapshotIdentity& identity) {
  std::array<char, chunk::kOwnerCharsMax + 1> owner = {};
  std::ranges::copy(identity.owner, owner.begin());
  if (header.uuid != identity.uuid) {
    return Error(ErrorCode::kInvalidArgument, "snapshot: of another tier");
  }
  if (header.owner != owner) {
    return Error(ErrorCode::kInvalidArgument, "snapshot: of another owner");
  }
  return {};
}

Result<HeaderWire> ReadHeader(SectionReader* reader, const SnapshotIdentity& identity) {
  HeaderWire header;
  KVS_TRY(reader->Read(std::as_writable_bytes(std::span(&header, 1))));
  if (header.magic != kMagic) return Corrupt("no magic number");
  if (HeaderCrc(header) != header.header_crc) return Corrupt("checksum of the header");
  const uint32_t version = header.version;
  if (version > chunk::kFormatVersion) {
    return Error(ErrorCode::kUnsupported,
                 fmt::format("snapshot: format version {}, this build knows up to {}", version,
                             chunk::kFormatVersion));
  }
  if (version != chunk::kFormatVersion) return Corrupt(fmt::format("format version {}", version));
  if (header.header_bytes != kHeaderBytes) return Corrupt("header length");
  if (header.fingerprint_count > kFingerprintsMax) return Corrupt("fingerprint count");
  // Before anything of that size is allocated: every entry takes at least one checksum.
  if (header.entry_count > reader->left() / (sizeof(EntryWire) + sizeof(uint32_t))) {
    return Corrupt("entry count");
  }
  KVS_TRY(CheckIdentity(header, identity));
  return header;
}

Status ReadFingerprints(SectionReader* reader, uint32_t expected, Snapshot* snapshot) {
  uint32_t count = 0;
  KVS_TRY_ASSIGN(const auto payload, reader->Next(kKindFingerprints, &count));
  if (count != expected || payload.size() != count * sizeof(chunk::Fingerprint)) {
    return Corrupt("fingerprint section");
  }
  snapshot->fingerprints.resize(count);
  for (size_t i = 0; i < count; ++i) {
    std::memcpy(snapshot->fingerprints[i].bytes.data(), payload.data() + i * 32, 32);
  }
  return {};
}

/// Takes one entry off the front of `payload`.
Status TakeEntry(std::span<const std::byte>* payload, Snapshot* snapshot) {
  EntryWire wire;
  if (payload->size() < sizeof(wire)) return Corrupt("entry beyond its section");
  std::memcpy(&wire, payload->data(), sizeof(wire));
  *payload = payload->subspan(sizeof(wire));
  if (wire.fingerprint_index >= snapshot->fingerprints.size()) return Corrupt("fingerprint index");
  if ((wire.flags & ~kFlagOwned) != 0) return Corrupt("entry flags");
  KVS_TRY(chunk::CheckChunkSizes({.payload_bytes = wire.payload_bytes,
                                  .block_bytes = wire.block_bytes,
                                  .block_count = wire.block_count}));
  const size_t crc_bytes = wire.block_count * sizeof(uint32_t);
  if (payload->size() < crc_bytes) return Corrupt("entry beyond its section");
  ChunkKey key;
  key.bytes = wire.key;
  SnapshotEntry entry;
  entry.fingerprint_index = wire.fingerprint_index;
  entry.owned = (wire.flags & kFlagOwned) != 0;
  entry.meta = chunk::MetaRef::Create(0, key, wire.payload_bytes, wire.block_bytes);
  chunk::ChunkMeta& meta = entry.meta.mutable_meta();
  meta.write_id = wire.write_id;
  meta.generation_ns = wire.generation_ns;
  std::memcpy(meta.crcs().data(), payload->data(), crc_bytes);
  *payload = payload->subspan(crc_bytes);
  snapshot->entries.push_back(std::move(entry));
  return {};
}

}  // namespace

int WriteSnapshotFile(io::FileSystem& file_system, int fd, const SnapshotIdentity& identity,
                      const Snapshot& snapshot) {
  SectionWriter writer(file_system, fd);
  writer.Write(BytesOf(MakeHeader(identity, snapshot)));
  for (const chunk::Fingerprint& fingerprint : snapshot.fingerprints) {
    writer.Add(fingerprint.bytes);
    writer.EndItem();
  }
  writer.EndSection(kKindFingerprints);
  for (const SnapshotEntry& entry : snapshot.entries) {
    KVS_ASSERT(entry.fingerprint_index < snapshot.fingerprints.size());
    writer.Add(BytesOf(MakeEntry(entry)));
    writer.Add(std::as_bytes(entry.meta->crcs()));
    writer.EndItem();
    if (writer.section_bytes() >= kSectionBytesSoft) writer.EndSection(kKindEntries);
  }
  if (writer.section_bytes() > 0) writer.EndSection(kKindEntries);
  return writer.result();
}

Result<Snapshot> ReadSnapshotFile(io::FileSystem& file_system, int fd,
                                  const SnapshotIdentity& identity) {
  io::FileInfo info;
  if (const int result = file_system.StatFd(fd, &info); result < 0) {
    return Error(ErrorCode::kIo, "snapshot: stat", -result);
  }
  SectionReader reader(file_system, fd, info.bytes);
  KVS_TRY_ASSIGN(const HeaderWire header, ReadHeader(&reader, identity));
  Snapshot snapshot;
  KVS_TRY(ReadFingerprints(&reader, header.fingerprint_count, &snapshot));
  snapshot.entries.reserve(header.entry_count);
  while (snapshot.entries.size() < header.entry_count) {
    uint32_t count = 0;
    KVS_TRY_ASSIGN(std::span<const std::byte> payload, reader.Next(kKindEntries, &count));
    if (count == 0 || count > header.entry_count - snapshot.entries.size()) {
      return Corrupt("entries of a section");
    }
    for (uint32_t i = 0; i < count; ++i) KVS_TRY(TakeEntry(&payload, &snapshot));
    if (!payload.empty()) return Corrupt("bytes after the last entry of a section");
  }
  if (reader.left() != 0) return Corrupt("bytes after the last section");
  return snapshot;
}

}  // namespace kvstream::tier
