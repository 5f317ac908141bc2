// Arbitrary bytes as each file of a tier directory: an error, or something that is written back as
// the same bytes. Checksums are also made to agree, so that what lies behind them is reached.

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "chunk/crc32c.h"
#include "chunk/footer.h"
#include "testing/sim_file_system.h"
#include "tier/namespace_file.h"
#include "tier/snapshot.h"
#include "tier/tier_marker.h"

namespace kvstream {
namespace {

using FooterBytes = std::array<std::byte, chunk::kFooterBytes>;

void CheckFooter(const FooterBytes& bytes) {
  const auto footer = chunk::DecodeFooter(bytes, 0);
  if (!footer) return;
  FooterBytes again;
  chunk::EncodeFooter(*footer->meta, footer->fingerprint, footer->owner, again);
  KVS_ASSERT(again == bytes);
}

void FuzzFooter(std::span<const std::byte> data) {
  FooterBytes bytes{};
  std::ranges::copy(data.last(std::min(data.size(), bytes.size())), bytes.begin());
  CheckFooter(bytes);
  const uint32_t crc = chunk::Crc32c(std::span(bytes).first(bytes.size() - sizeof(crc)));
  std::memcpy(bytes.data() + bytes.size() - sizeof(crc), &crc, sizeof(crc));
  CheckFooter(bytes);
}

void FuzzTexts(const std::string& text) {
  if (const auto uuid = tier::DecodeMarker(text)) KVS_ASSERT(tier::EncodeMarker(*uuid) == text);
  if (const auto siblings = tier::DecodeSiblings(text)) {
    KVS_ASSERT(tier::EncodeSiblings(*siblings) == text);
  }
  if (const auto record = tier::DecodeNamespace(text)) {
    const auto again = tier::DecodeNamespace(tier::EncodeNamespace(record->identity));
    KVS_ASSERT(again && again->fingerprint == record->fingerprint);
  }
}

// Makes the checksums of the header and of each section agree.
void SealSnapshot(std::vector<std::byte>* bytes) {
  constexpr size_t kHeader = 128;
  constexpr size_t kSection = 16;
  if (bytes->size() < kHeader) return;
  const auto put = [&](size_t offset, uint32_t crc) {
    std::memcpy(bytes->data() + offset, &crc, sizeof(crc));
  };
  put(kHeader - 4, chunk::Crc32c(std::span(*bytes).first(kHeader - 4)));
  for (size_t at = kHeader; at + kSection <= bytes->size();) {
    uint32_t payload = 0;
    std::memcpy(&payload, bytes->data() + at + 4, sizeof(payload));
    if (payload > bytes->size() - at - kSection) return;
    const auto section = std::span(*bytes).subspan(at, kSection + payload);
    put(at + 12, chunk::ExtendCrc32c(chunk::Crc32c(section.first(12)), section.subspan(kSection)));
    at += section.size();
  }
}

void FuzzSnapshot(std::vector<std::byte> bytes) {
  tier::SnapshotIdentity identity = {{}, "node7.rank_3"};
  for (size_t i = 0; i < identity.uuid.size(); ++i) identity.uuid[i] = static_cast<std::byte>(i);
  SealSnapshot(&bytes);
  test::SimFileSystem files;
  files.SetContents("/snapshot", bytes);
  const int fd = files.Open("/snapshot", O_RDONLY);
  const auto snapshot = tier::ReadSnapshotFile(files, fd, identity);
  if (!snapshot) return;
  for (const tier::SnapshotEntry& entry : snapshot->entries) {
    KVS_ASSERT(entry.fingerprint_index < snapshot->fingerprints.size());
    KVS_ASSERT(entry.meta->crcs().size_bytes() <= bytes.size());
  }
}

}  // namespace
}  // namespace kvstream

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  kvstream::FuzzFooter(bytes);
  kvstream::FuzzTexts(std::string(reinterpret_cast<const char*>(data), size));
  kvstream::FuzzSnapshot({bytes.begin(), bytes.end()});
  return 0;
}
