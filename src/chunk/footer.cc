#include "chunk/footer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "base/assert.h"
#include "chunk/crc32c.h"
#include "chunk/format.h"
#include "chunk/path.h"

namespace kvstream::chunk {
namespace {

static_assert(std::endian::native == std::endian::little, "files hold little-endian integers");

constexpr std::array<char, 8> kMagic = {'K', 'V', 'S', 'C', 'H', 'U', 'N', 'K'};
constexpr uint32_t kHeaderBytes = 256;

/// Bytes 0 to 255 of a footer. Magic, version and the checksum at the end keep their places in all
/// versions, so that any build can tell a newer footer from a damaged one.
struct __attribute__((packed)) FooterHeader {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t header_bytes;
  std::array<std::byte, 32> fingerprint;
  std::array<std::byte, 32> key;
  uint64_t payload_bytes;
  uint64_t write_id;
  uint64_t generation_ns;
  uint32_t block_bytes;
  uint32_t block_count;
  std::array<char, kOwnerCharsMax + 1> owner;  // padded with zeros
  std::array<std::byte, 80> reserved;          // zero
};

/// A whole footer. Checksums of blocks that the chunk does not have are zero.
struct __attribute__((packed)) FooterWire {
  FooterHeader header;
  std::array<uint32_t, kBlocksMax> crcs;
  uint32_t footer_crc;  // CRC-32C of all bytes before it
};

static_assert(offsetof(FooterHeader, version) == 8);
static_assert(offsetof(FooterHeader, fingerprint) == 16);
static_assert(offsetof(FooterHeader, key) == 48);
static_assert(offsetof(FooterHeader, payload_bytes) == 80);
static_assert(offsetof(FooterHeader, write_id) == 88);
static_assert(offsetof(FooterHeader, generation_ns) == 96);
static_assert(offsetof(FooterHeader, block_bytes) == 104);
static_assert(offsetof(FooterHeader, block_count) == 108);
static_assert(offsetof(FooterHeader, owner) == 112);
static_assert(offsetof(FooterHeader, reserved) == 176);
static_assert(sizeof(FooterHeader) == kHeaderBytes);
static_assert(offsetof(FooterWire, crcs) == kHeaderBytes);
static_assert(offsetof(FooterWire, footer_crc) == 4092);
static_assert(sizeof(FooterWire) == kFooterBytes);

Error Corrupt(std::string_view what) {
  return Error(ErrorCode::kCorruption, fmt::format("footer: {}", what));
}

/// What holds for footers of every version.
Status CheckEnvelope(const FooterWire& wire, std::span<const std::byte, kFooterBytes> bytes) {
  if (wire.header.magic != kMagic) return Corrupt("no magic number");
  const uint32_t footer_crc = wire.footer_crc;
  if (Crc32c(bytes.first(offsetof(FooterWire, footer_crc))) != footer_crc) {
    return Corrupt("its own checksum does not agree");
  }
  const uint32_t version = wire.header.version;
  if (version > kFormatVersion) {
    return Error(ErrorCode::kUnsupported,
                 fmt::format("footer: format version {}, this build knows up to {}", version,
                             kFormatVersion));
  }
  if (version != kFormatVersion) return Corrupt(fmt::format("format version {}", version));
  return {};
}

bool AllZero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

/// The owner's name, or an empty string if the field does not hold one.
std::string OwnerOf(const FooterHeader& header) {
  const auto end = std::ranges::find(header.owner, '\0');
  const std::string owner(header.owner.begin(), end);
  const bool padded = std::all_of(end, header.owner.end(), [](char c) { return c == '\0'; });
  return end != header.owner.end() && padded && IsOwnerName(owner) ? owner : std::string();
}

}  // namespace

Status CheckChunkSizes(const ChunkSizes& sizes) {
  const auto [payload_bytes, block_bytes, block_count] = sizes;
  if (payload_bytes == 0 || payload_bytes > kChunkBytesMax) {
    return Error(ErrorCode::kCorruption, fmt::format("payload length {}", payload_bytes));
  }
  if (block_bytes == 0 || block_bytes > kBlockBytes || block_bytes % kAlignBytes != 0) {
    return Error(ErrorCode::kCorruption, fmt::format("block length {}", block_bytes));
  }
  const uint64_t expected = (payload_bytes + block_bytes - 1) / block_bytes;
  if (block_count != expected || block_count > kBlocksMax) {
    return Error(ErrorCode::kCorruption, fmt::format("block count {}", block_count));
  }
  return {};
}

void EncodeFooter(const ChunkMeta& meta, const Fingerprint& fingerprint, std::string_view owner,
                  std::span<std::byte, kFooterBytes> out) {
  KVS_ASSERT(IsOwnerName(owner));
  KVS_ASSERT(meta.block_bytes <= kBlockBytes);
  KVS_ASSERT(meta.block_count > 0 && meta.block_count <= kBlocksMax);
  FooterWire wire = {};
  FooterHeader& header = wire.header;
  header.magic = kMagic;
  header.version = kFormatVersion;
  header.header_bytes = kHeaderBytes;
  header.fingerprint = fingerprint.bytes;
  header.key = meta.key.bytes;
  header.payload_bytes = meta.payload_bytes;
  header.write_id = meta.write_id;
  header.generation_ns = meta.generation_ns;
  header.block_bytes = meta.block_bytes;
  header.block_count = meta.block_count;
  std::ranges::copy(owner, header.owner.begin());
  std::memcpy(out.data(), &wire, sizeof(wire));
  const std::span<const std::byte> crcs = std::as_bytes(meta.crcs());
  std::memcpy(out.data() + offsetof(FooterWire, crcs), crcs.data(), crcs.size());
  const uint32_t footer_crc = Crc32c(out.first(offsetof(FooterWire, footer_crc)));
  std::memcpy(out.data() + offsetof(FooterWire, footer_crc), &footer_crc, sizeof(footer_crc));
}

Result<DecodedFooter> DecodeFooter(std::span<const std::byte, kFooterBytes> bytes, NamespaceId ns) {
  FooterWire wire;
  std::memcpy(&wire, bytes.data(), sizeof(wire));
  const FooterHeader& header = wire.header;
  KVS_TRY(CheckEnvelope(wire, bytes));
  if (header.header_bytes != kHeaderBytes) return Corrupt("header length");
  KVS_TRY(CheckChunkSizes({.payload_bytes = header.payload_bytes,
                           .block_bytes = header.block_bytes,
                           .block_count = header.block_count}));
  std::string owner = OwnerOf(header);
  if (owner.empty()) return Corrupt("owner");
  if (!AllZero(header.reserved)) return Corrupt("reserved bytes");
  const uint32_t block_count = header.block_count;
  const size_t crc_bytes = block_count * sizeof(uint32_t);
  const auto table = bytes.subspan(offsetof(FooterWire, crcs), sizeof(wire.crcs));
  if (!AllZero(table.subspan(crc_bytes))) return Corrupt("checksums beyond the last block");

  ChunkKey key;
  key.bytes = header.key;
  MetaRef meta = MetaRef::Create(ns, key, header.payload_bytes, header.block_bytes);
  ChunkMeta& fields = meta.mutable_meta();
  KVS_ASSERT(fields.block_count == block_count);
  fields.write_id = header.write_id;
  fields.generation_ns = header.generation_ns;
  std::memcpy(fields.crcs().data(), table.data(), crc_bytes);
  return DecodedFooter{std::move(meta), {header.fingerprint}, std::move(owner)};
}

}  // namespace kvstream::chunk
