// Opening the tiers of one engine. Everything that can tell an unmounted or mistaken directory is
// read and checked before the first byte is written.

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "base/assert.h"
#include "base/prng.h"
#include "chunk/path.h"
#include "tier/layout.h"
#include "tier/tier_directory.h"

namespace kvstream::tier {
namespace {

constexpr uint32_t kWorldWritable = 0002;
constexpr uint32_t kSticky = 01000;
constexpr int kAncestorsMax = 256;
constexpr size_t kHolderBytesMax = 256;

Error Invalid(const TierDirectoryOptions& options, std::string_view what) {
  return Error(ErrorCode::kInvalidArgument, fmt::format("{}: {}", options.directory, what), 0,
               options.name);
}

bool IsPrintable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) != 0x7f;
  });
}

Status CheckOptions(const TierDirectoryOptions& options) {
  if (options.name.empty() || options.name.size() > kTierNameBytesMax ||
      !IsPrintable(options.name)) {
    return Error(ErrorCode::kInvalidArgument, "a tier needs a short printable name");
  }
  if (options.directory.empty()) return Invalid(options, "a tier needs a directory");
  if (!chunk::IsOwnerName(options.owner)) {
    return Invalid(options, fmt::format("\"{}\" is not a name for an owner", options.owner));
  }
  if (!IsPrintable(options.holder) || options.holder.size() > kHolderBytesMax) {
    return Invalid(options, "the holder's description must be short and printable");
  }
  return {};
}

/// Whether `inner` lies under `outer` by its name alone.
bool IsNestedByName(const std::string& outer, const std::string& inner) {
  const auto normal = [](const std::string& path) {
    return std::filesystem::path(path + "/").lexically_normal().string();
  };
  return normal(inner).starts_with(normal(outer));
}

/// Whether `inner` lies under the directory `outer`, whatever links lead there.
bool IsNestedByInode(io::FileSystem& file_system, const io::FileInfo& outer,
                     const std::string& inner) {
  std::string path = inner + "/.";
  io::FileInfo below;
  for (int level = 0; level < kAncestorsMax; ++level) {
    io::FileInfo info;
    // An ancestor that cannot be seen ends the search: nobody can have named it as a tier either.
    if (file_system.Stat(path, &info) < 0) return false;
    if (info.device == outer.device && info.inode == outer.inode) return true;
    if (level > 0 && info.device == below.device && info.inode == below.inode) return false;
    below = info;
    path += "/..";
  }
  return false;
}

/// The text of a control file, or nothing if there is none.
Result<std::optional<std::string>> ReadOptional(const TierFiles& files, const std::string& path) {
  Result<std::string> text = files.ReadWhole(path, kMarkerFileBytesMax);
  if (text) return std::optional(std::move(*text));
  if (text.error().code() == ErrorCode::kNotFound) return std::optional<std::string>();
  return std::move(text).error();
}

Result<std::optional<TierUuid>> ReadMarker(const TierFiles& files, const std::string& root) {
  const std::string path = root + "/" + kMarkerName;
  KVS_TRY_ASSIGN(const std::optional<std::string> text, ReadOptional(files, path));
  if (!text) return std::optional<TierUuid>();
  const Result<TierUuid> uuid = DecodeMarker(*text);
  if (!uuid) return files.Blame(uuid.error(), path);
  return std::optional(*uuid);
}

Result<std::vector<Sibling>> ReadSiblings(const TierFiles& files, const std::string& path) {
  KVS_TRY_ASSIGN(const std::optional<std::string> text, ReadOptional(files, path));
  if (!text) return std::vector<Sibling>();
  Result<std::vector<Sibling>> siblings = DecodeSiblings(*text);
  if (!siblings) return files.Blame(siblings.error(), path);
  return siblings;
}

/// Looks at the tier's root, which may be reached through a link.
Status LookAtRoot(io::FileSystem& file_system, TierDirectoryOptions* options, io::FileInfo* info) {
  std::string& root = options->directory;
  int result = file_system.Stat(root, info);
  if (result == 0 && !info->directory) {
    root += "/.";
    result = file_system.Stat(root, info);
  }
  if (result == -ENOTDIR || (result == 0 && !info->directory)) {
    return Invalid(*options, "not a directory");
  }
  if (result < 0) {
    return TierFiles(file_system, options->name).Failed("find the directory", root, result);
  }
  if ((info->mode & kWorldWritable) != 0 && (info->mode & kSticky) == 0) {
    return Invalid(*options, "writable by everybody");
  }
  return {};
}

TierUuid NewUuid(const TierDirectoryOptions& options) {
  const std::string seed = std::to_string(options.random_seed);
  const std::array<std::string_view, 5> parts = {"kvstream-tier", seed, options.directory,
                                                 options.owner, options.holder};
  const ChunkKey digest = ChunkKey::FromParts(parts);
  TierUuid uuid;
  std::copy_n(digest.bytes.begin(), uuid.size(), uuid.begin());
  return uuid;
}

}  // namespace

/// A tier before anything was written to it.
struct TierDirectory::Candidate {
  Options options;
  io::FileInfo info;
  std::optional<TierUuid> uuid;   ///< Of its marker, if it has one.
  std::vector<Sibling> siblings;  ///< What this owner left there.

  std::string SiblingsPath() const {
    return fmt::format("{}/{}/{}{}", options.directory, kOwnersDirectoryName, options.owner,
                       kSiblingsSuffix);
  }
};

Result<TierDirectory::Candidate> TierDirectory::Inspect(io::FileSystem& file_system,
                                                        const Options& options) {
  KVS_TRY(CheckOptions(options));
  Candidate candidate;
  candidate.options = options;
  KVS_TRY(LookAtRoot(file_system, &candidate.options, &candidate.info));

  const std::string& root = candidate.options.directory;
  const std::string control_path = root + "/" + kControlDirectoryName;
  const TierFiles files(file_system, options.name);
  io::FileInfo control;
  const int result = file_system.Stat(control_path, &control);
  if (result == -ENOENT) return candidate;
  if (result < 0) return files.Failed("stat", control_path, result);
  if (!control.directory) {
    return files.Refused(ErrorCode::kCorruption, control_path, "not a directory");
  }
  KVS_TRY_ASSIGN(candidate.uuid, ReadMarker(files, root));
  KVS_TRY_ASSIGN(candidate.siblings, ReadSiblings(files, candidate.SiblingsPath()));
  return candidate;
}

Status TierDirectory::CheckPlaces(io::FileSystem& file_system,
                                  std::span<const Candidate> candidates) {
  for (const Candidate& a : candidates) {
    for (const Candidate& b : candidates) {
      if (&a == &b) continue;
      const std::string& outer = a.options.directory;
      const std::string& inner = b.options.directory;
      if (a.info.device == b.info.device && a.info.inode == b.info.inode) {
        return Invalid(b.options, fmt::format("the same directory as {}", outer));
      }
      if (IsNestedByName(outer, inner) || IsNestedByInode(file_system, a.info, inner)) {
        return Invalid(b.options, fmt::format("lies within {}", outer));
      }
      if (a.uuid && a.uuid == b.uuid) {
        return Invalid(b.options, fmt::format("a copy of {}: both have one marker", outer));
      }
    }
  }
  return {};
}

// A tier without a marker is new, or it is the empty mount point of one that a sibling remembers.
Status TierDirectory::CheckSiblings(std::span<const Candidate> candidates) {
  const auto unmarked =
      std::ranges::find_if(candidates, [](const Candidate& c) { return !c.uuid.has_value(); });
  if (unmarked == candidates.end()) return {};
  for (const Candidate& witness : candidates) {
    for (const Sibling& sibling : witness.siblings) {
      const bool present = std::ranges::any_of(
          candidates, [&](const Candidate& c) { return c.uuid == sibling.uuid; });
      if (present) continue;
      return Error(
          ErrorCode::kNotFound,
          fmt::format("{} has no tier marker, but {} was used with a tier \"{}\" that is not "
                      "here: not mounted? If that tier is gone for good, remove {}",
                      unmarked->options.directory, witness.options.directory, sibling.name,
                      witness.SiblingsPath()),
          0, unmarked->options.name);
    }
  }
  return {};
}

Result<std::vector<std::unique_ptr<TierDirectory>>> TierDirectory::OpenAll(
    io::FileSystem& file_system, std::span<const Options> options) {
  std::vector<Candidate> candidates;
  for (const Options& one : options) {
    KVS_TRY_ASSIGN(Candidate candidate, Inspect(file_system, one));
    candidates.push_back(std::move(candidate));
  }
  KVS_TRY(CheckPlaces(file_system, candidates));
  KVS_TRY(CheckSiblings(candidates));

  std::vector<std::unique_ptr<TierDirectory>> tiers;
  for (const Candidate& candidate : candidates) {
    tiers.push_back(std::unique_ptr<TierDirectory>(new TierDirectory(file_system, candidate)));
    KVS_TRY(tiers.back()->TakeLock());
    if (!candidate.uuid) KVS_TRY(tiers.back()->CreateMarker());
  }
  // Only when every marker is durable may anybody remember it: a crash in between must not make a
  // tier look unmounted.
  for (size_t i = 0; i < tiers.size(); ++i) {
    KVS_TRY(tiers[i]->RememberSiblings(candidates[i].siblings, tiers));
  }
  return tiers;
}

Result<std::unique_ptr<TierDirectory>> TierDirectory::Open(io::FileSystem& file_system,
                                                           const Options& options) {
  KVS_TRY_ASSIGN(auto tiers, OpenAll(file_system, std::span(&options, 1)));
  return std::move(tiers.front());
}

TierDirectory::TierDirectory(io::FileSystem& file_system, const Candidate& candidate)
    : file_system_(file_system),
      options_(candidate.options),
      files_(file_system, options_.name),
      uuid_(candidate.uuid.value_or(TierUuid())),
      device_(candidate.info.device),
      nonce_first_(base::Prng(options_.random_seed).Next()) {}

TierDirectory::~TierDirectory() {
  // Closing can only fail for a file system that is gone, and the lock with it.
  if (lock_fd_ >= 0) static_cast<void>(file_system_.Close(lock_fd_));
}

Status TierDirectory::TakeLock() {
  KVS_ASSERT(lock_fd_ < 0);
  KVS_TRY(files_.EnsureDirectory(options_.directory + "/" + kControlDirectoryName));
  KVS_TRY(files_.EnsureDirectory(options_.directory + "/" + kOwnersDirectoryName));
  const std::string path = OwnerPath(kLockSuffix);
  lock_fd_ = file_system_.OpenLocked(path);
  if (lock_fd_ < 0) return LockError(lock_fd_);
  io::FileInfo info;
  int64_t result = file_system_.StatFd(lock_fd_, &info);
  if (result < 0) return files_.Failed("stat", path, static_cast<int>(result));
  if (!info.regular) return files_.Refused(ErrorCode::kCorruption, path, "not a regular file");
  user_ = info.user;
  const std::string text = options_.holder + "\n";
  result = file_system_.Truncate(lock_fd_, 0);
  if (result == 0) result = file_system_.Write(lock_fd_, std::as_bytes(std::span(text)), 0);
  if (result < 0) return files_.Failed("write", path, static_cast<int>(result));
  // What a killed run was writing.
  const std::string temp_path = OwnerPath(kControlTempSuffix);
  result = file_system_.Unlink(temp_path);
  if (result < 0 && result != -ENOENT) {
    return files_.Failed("remove", temp_path, static_cast<int>(result));
  }
  return {};
}

Error TierDirectory::LockError(int result) const {
  const std::string path = OwnerPath(kLockSuffix);
  if (result != -EWOULDBLOCK) return files_.Failed("lock", path, result);
  std::string holder = "unknown";
  const Result<std::string> text = files_.ReadWhole(path, kHolderBytesMax + 1);
  if (text && text->ends_with('\n')) {
    const std::string_view line = std::string_view(*text).substr(0, text->size() - 1);
    if (IsPrintable(line) && !line.empty()) holder = line;
  }
  return Error(
      ErrorCode::kBusy,
      fmt::format("{}: owner \"{}\" is in use by {}", options_.directory, options_.owner, holder),
      0, options_.name);
}

Status TierDirectory::CreateMarker() {
  // Two owners may meet a new tier at the same time; the second takes the first one's marker.
  const std::string lock_path = options_.directory + "/" + kCreateLockName;
  const ReadHandle lock(file_system_, file_system_.OpenLocked(lock_path));
  if (lock.fd() == -EWOULDBLOCK) {
    return files_.Refused(ErrorCode::kBusy, lock_path, "another process is creating the tier");
  }
  if (lock.fd() < 0) return files_.Failed("lock", lock_path, lock.fd());
  KVS_TRY_ASSIGN(const std::optional<TierUuid> found, ReadMarker(files_, options_.directory));
  uuid_ = found.value_or(NewUuid(options_));
  if (found) return {};
  KVS_TRY(files_.WriteDurably(options_.directory + "/" + kMarkerName, OwnerPath(kControlTempSuffix),
                              EncodeMarker(uuid_)));
  return files_.SyncDirectory(options_.directory);
}

Status TierDirectory::RememberSiblings(const std::vector<Sibling>& known,
                                       std::span<const std::unique_ptr<TierDirectory>> tiers) {
  // Those that are here go to the end, so that the list, when full, forgets the longest absent
  // ones.
  std::vector<Sibling> siblings = known;
  for (const std::unique_ptr<TierDirectory>& tier : tiers) {
    if (tier.get() == this) continue;
    std::erase_if(siblings, [&](const Sibling& sibling) { return sibling.uuid == tier->uuid(); });
    siblings.push_back({tier->uuid(), tier->name()});
  }
  if (siblings.size() > kSiblingsMax) {
    siblings.erase(siblings.begin(), siblings.end() - static_cast<ptrdiff_t>(kSiblingsMax));
  }
  if (siblings == known) return {};
  return files_.WriteDurably(OwnerPath(kSiblingsSuffix), OwnerPath(kControlTempSuffix),
                             EncodeSiblings(siblings));
}

}  // namespace kvstream::tier
