#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "kvstream/chunk_key.h"
#include "kvstream/status.h"

#include "chunk/fingerprint.h"
#include "chunk/footer.h"
#include "io/file_system.h"
#include "tier/scan.h"
#include "tier/snapshot.h"
#include "tier/tier_files.h"
#include "tier/tier_marker.h"

namespace kvstream::tier {

/// A file under its temporary name, open for writing. The caller closes `fd`, then publishes or
/// discards the path.
struct TempFile {
  int fd = -1;
  std::string path;
};

/// A chunk file, open for reading. The caller closes `fd`.
struct OpenedChunk {
  int fd = -1;
  uint64_t file_bytes = 0;  ///< Compare with ChunkMeta::FileBytes: another length is another put.
};

/// What TierDirectory::Open needs to know.
struct TierDirectoryOptions {
  std::string name;          ///< The tier's, for messages; 1 to kTierNameBytesMax printable bytes.
  std::string directory;     ///< Existing, not world-writable unless sticky. May be a link.
  std::string owner;         ///< A valid owner name (chunk/path.h).
  std::string holder;        ///< Who takes the lock, told to a second one: "node7, process 1234".
  uint64_t random_seed = 0;  ///< Of UUIDs and temporary names; another one in each process.
};

/// One tier's directory on behalf of one owner: its marker, the owner's lock, namespaces, names of
/// files, scan and snapshot (docs/file_format.md). Knows nothing of capacity, LRU or which chunk is
/// wanted.
///
/// Every method blocks for as long as the file system likes, so only lanes and Engine::Open call
/// them. Safe from several threads at once. Errors carry the tier's name: kNotFound for a missing
/// file, kNoSpace for ENOSPC and EDQUOT, kCorruption for contents, else kIo, with the errno where
/// there is one.
class TierDirectory {
 public:
  using Options = TierDirectoryOptions;

  /// Opens the tiers of one engine, all or none. First reads every marker and writes nothing; then
  /// takes the owner's lock in each directory, creates missing markers, and makes each tier
  /// remember the others. kNotFound: a directory is missing, or it has no marker although another
  /// tier remembers one that is not here ("not mounted?"). kInvalidArgument: bad options, a
  /// world-writable directory, the same or nested directories. kBusy: a live process has the
  /// owner's lock; the message names the holder. kUnsupported: a newer format. kCorruption: a
  /// damaged marker. kIo.
  static Result<std::vector<std::unique_ptr<TierDirectory>>> OpenAll(
      io::FileSystem& file_system, std::span<const Options> options);
  /// OpenAll with one tier.
  static Result<std::unique_ptr<TierDirectory>> Open(io::FileSystem& file_system,
                                                     const Options& options);

  /// Gives the owner's lock back.
  ~TierDirectory();
  TierDirectory(const TierDirectory&) = delete;
  TierDirectory& operator=(const TierDirectory&) = delete;

  const std::string& name() const { return options_.name; }
  const std::string& directory() const { return options_.directory; }
  const std::string& owner() const { return options_.owner; }
  const TierUuid& uuid() const { return uuid_; }
  /// Whether two tiers share one device, so that reading from both gains nothing.
  static bool SameDevice(const TierDirectory& a, const TierDirectory& b) {
    return a.device_ == b.device_;
  }

  /// Whether the directory still is this tier: its marker can be read and carries its UUID.
  /// kNotFound, kCorruption, kIo.
  Status CheckPresent() const;
  /// CheckPresent, and a small file can be written and removed.
  Status CheckWritable();

  /// Makes the namespace's directory and its namespace.json; a damaged namespace.json is written
  /// anew. kInvalidArgument for an identity without a model or longer than the file may be;
  /// kCorruption if another identity has the directory, kUnsupported if a newer format has it.
  Status CreateNamespace(const Identity& identity);

  std::string ChunkPath(const chunk::Fingerprint& fingerprint, const ChunkKey& key) const;

  /// A new file beside the chunk's final place, of `file_bytes`, their space reserved where the
  /// file system can. kNoSpace if it has no room; nothing is left behind on failure. kNotFound if
  /// the namespace was not created. A file system may refuse O_DIRECT (`direct`): kIo with EINVAL.
  Result<TempFile> CreateTemp(const chunk::Fingerprint& fingerprint, const ChunkKey& key,
                              bool direct, uint64_t file_bytes);
  /// Gives a complete temporary file its final name, replacing what was there. 0 or a negative
  /// errno.
  int Publish(const std::string& temp_path, const chunk::Fingerprint& fingerprint,
              const ChunkKey& key);
  /// Removes a temporary file that will not be published. 0 or a negative errno.
  int DiscardTemp(const std::string& temp_path);
  /// 0 or a negative errno; -ENOENT where it is gone already.
  int RemoveChunk(const chunk::Fingerprint& fingerprint, const ChunkKey& key);

  /// Opens a published chunk. Never follows a link, never waits for a FIFO. kNotFound if there is
  /// none; kCorruption if what is there is not a regular file of a possible length.
  Result<OpenedChunk> OpenChunk(const chunk::Fingerprint& fingerprint, const ChunkKey& key,
                                bool direct) const;
  /// Reads the footer from the end of an open file of `file_bytes` (buffered or direct) and checks
  /// that it describes a file of that length. kCorruption, kUnsupported, kIo.
  Result<chunk::DecodedFooter> ReadFooter(int fd, uint64_t file_bytes, NamespaceId ns) const;
  /// The footer of a chunk by name, as for a discovering lookup; checks key and fingerprint too.
  Result<chunk::DecodedFooter> FindChunk(const chunk::Fingerprint& fingerprint, const ChunkKey& key,
                                         NamespaceId ns) const;

  /// Reports every valid chunk of every namespace, of any owner, and sweeps: temporary files that
  /// this owner left in earlier runs, and chunk files of this user whose contents cannot be a
  /// chunk. Leaves all else alone and counts it. Stops early on `stop`. An unreadable namespace or
  /// file is counted; kIo only if the tier's directory itself cannot be read.
  Result<ScanReport> Scan(ScanSink& sink, std::stop_token stop);

  /// Writes this owner's snapshot, atomically and durably. `clean`: nothing will change on the tier
  /// until the next open. Requires valid fingerprint indices.
  Status WriteSnapshot(const Snapshot& snapshot, bool clean);
  /// The latest snapshot of this owner and this tier; Snapshot::clean says which kind. kNotFound if
  /// there is none, else kCorruption, kUnsupported or kInvalidArgument with the reason: the caller
  /// scans instead.
  Result<Snapshot> LoadSnapshot() const;
  /// From now on the snapshot is loaded as unclean. To be called before the first change to the
  /// tier.
  Status MarkSnapshotStale();

 private:
  struct Candidate;
  class Scanner;

  TierDirectory(io::FileSystem& file_system, const Candidate& candidate);

  static Result<Candidate> Inspect(io::FileSystem& file_system, const Options& options);
  static Status CheckPlaces(io::FileSystem& file_system, std::span<const Candidate> candidates);
  static Status CheckSiblings(std::span<const Candidate> candidates);
  Status TakeLock();
  Error LockError(int result) const;
  Status CreateMarker();
  Status RememberSiblings(const std::vector<Sibling>& known,
                          std::span<const std::unique_ptr<TierDirectory>> tiers);

  std::string NamespacePath(const chunk::Fingerprint& fingerprint) const;
  /// "<tier>/.kvstream/owners/<owner><suffix>".
  std::string OwnerPath(std::string_view suffix) const;
  Result<Snapshot> LoadSnapshotFrom(const std::string& path) const;
  bool IsNonceOfThisRun(uint64_t nonce) const;

  io::FileSystem& file_system_;
  const Options options_;
  const TierFiles files_;
  TierUuid uuid_;
  const uint64_t device_;
  int lock_fd_ = -1;
  uint32_t user_ = 0;  ///< Whose files this process makes.
  const uint64_t nonce_first_;
  std::atomic<uint64_t> nonces_used_{0};
  /// Control files are written under one temporary name.
  std::mutex control_mutex_;
};

}  // namespace kvstream::tier
