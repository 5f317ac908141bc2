// What probes ask of a tier that was set aside.

#include <array>
#include <cerrno>

#include "tier/layout.h"
#include "tier/tier_directory.h"

namespace kvstream::tier {
namespace {

constexpr char kProbeSuffix[] = ".probe";

}  // namespace

Status TierDirectory::CheckPresent() const {
  const std::string path = options_.directory + "/" + kMarkerName;
  KVS_TRY_ASSIGN(const std::string text, files_.ReadWhole(path, kMarkerFileBytesMax));
  const Result<TierUuid> uuid = DecodeMarker(text);
  if (!uuid) return files_.Blame(uuid.error(), path);
  if (*uuid != uuid_) return files_.Refused(ErrorCode::kCorruption, path, "another tier's marker");
  return {};
}

Status TierDirectory::CheckWritable() {
  KVS_TRY(CheckPresent());
  const std::string path = OwnerPath(kProbeSuffix);
  KVS_TRY_ASSIGN(const int fd, files_.CreateFresh(path));
  constexpr std::array<std::byte, chunk::kAlignBytes> kZeros{};
  const int64_t written = files_.file_system().Write(fd, kZeros, 0);
  const int closed = files_.file_system().Close(fd);
  const int removed = files_.file_system().Unlink(path);
  for (const int64_t result : {written, int64_t{closed}, int64_t{removed}}) {
    if (result < 0) return files_.Failed("probe", path, static_cast<int>(result));
  }
  return {};
}

}  // namespace kvstream::tier
