#include <cerrno>

#include "chunk/path.h"
#include "tier/layout.h"
#include "tier/namespace_file.h"
#include "tier/tier_directory.h"

namespace kvstream::tier {

/// One walk over a tier.
class TierDirectory::Scanner {
 public:
  Scanner(const TierDirectory& tier, ScanSink& sink, std::stop_token stop)
      : tier_(tier), sink_(sink), stop_(std::move(stop)) {
    batch_.reserve(kScanBatchMax);
  }

  Result<ScanReport> Run() {
    const std::string& root = tier_.options_.directory;
    std::vector<io::DirectoryEntry> entries;
    const int result = tier_.file_system_.List(root, &entries);
    if (result < 0) return tier_.files_.Failed("list", root, result);
    for (const io::DirectoryEntry& entry : entries) {
      if (Stopped()) break;
      if (entry.name == kControlDirectoryName) continue;
      if (entry.directory && chunk::IsNamespaceDirectoryName(entry.name)) {
        ScanNamespace(entry.name, root + "/" + entry.name);
      } else {
        ++report_.unknown_left;
      }
    }
    Deliver();
    return report_;
  }

 private:
  bool Stopped() {
    report_.stopped = report_.stopped || stop_.stop_requested();
    return report_.stopped;
  }

  void ScanNamespace(const std::string& name, const std::string& path) {
    const Result<std::string> text =
        tier_.files_.ReadWhole(path + "/" + kNamespaceFileName, kNamespaceFileBytesMax);
    if (!text && text.error().code() == ErrorCode::kIo) {
      ++report_.errors;
      return;
    }
    const Result<NamespaceRecord> record =
        text ? DecodeNamespace(*text) : Result<NamespaceRecord>(text.error().Clone());
    if (!record || chunk::NamespaceDirectoryName(record->fingerprint) != name) {
      ++report_.unknown_left;
      return;
    }
    for (const io::DirectoryEntry& entry : List(path)) {
      if (Stopped()) return;
      if (entry.name == kNamespaceFileName) continue;
      if (entry.directory && chunk::IsFanOut(entry.name)) {
        ScanFanOut(record->fingerprint, entry.name, path + "/" + entry.name);
      } else {
        ++report_.unknown_left;
      }
    }
  }

  void ScanFanOut(const chunk::Fingerprint& fingerprint, const std::string& name,
                  const std::string& path) {
    for (const io::DirectoryEntry& entry : List(path)) {
      if (Stopped()) return;
      const std::string file_path = path + "/" + entry.name;
      const std::optional<ChunkKey> key = chunk::ParseChunkFileName(entry.name);
      const std::optional<chunk::TempName> temp = chunk::ParseTempFileName(entry.name);
      if (key && chunk::FanOut(*key) == name) {
        ScanChunk(fingerprint, *key, file_path);
      } else if (temp) {
        ScanTemp(*temp, file_path);
      } else {
        ++report_.unknown_left;
      }
    }
  }

  void ScanChunk(const chunk::Fingerprint& fingerprint, const ChunkKey& key,
                 const std::string& path) {
    Result<chunk::DecodedFooter> footer = tier_.FindChunk(fingerprint, key, 0);
    if (footer) {
      Add(std::move(*footer));
      return;
    }
    switch (footer.error().code()) {
      case ErrorCode::kNotFound:
        return;  // removed meanwhile
      case ErrorCode::kCorruption:
        return SweepBroken(path);
      case ErrorCode::kUnsupported:
        ++report_.unknown_left;
        return;
      default:
        ++report_.errors;
        return;
    }
  }

  // A crash can leave files of any length and contents under final names (docs/file_format.md).
  void SweepBroken(const std::string& path) {
    io::FileInfo info;
    if (tier_.file_system_.Stat(path, &info) < 0) {
      ++report_.errors;
    } else if (!info.regular || info.user != tier_.user_) {
      ++report_.unknown_left;
    } else {
      Remove(path, &report_.broken_removed);
    }
  }

  void ScanTemp(const chunk::TempName& temp, const std::string& path) {
    if (temp.owner == tier_.options_.owner && !tier_.IsNonceOfThisRun(temp.nonce)) {
      Remove(path, &report_.temps_removed);
    } else {
      ++report_.temps_left;
    }
  }

  void Remove(const std::string& path, uint64_t* counter) {
    const int result = tier_.file_system_.Unlink(path);
    if (result == 0) ++*counter;
    if (result < 0 && result != -ENOENT) ++report_.errors;
  }

  void Add(chunk::DecodedFooter footer) {
    const bool owned = footer.owner == tier_.options_.owner;
    const uint64_t file_bytes = footer.meta->FileBytes();
    batch_.push_back({std::move(footer), file_bytes, owned});
    ++report_.chunks;
    if (batch_.size() == kScanBatchMax) Deliver();
  }

  void Deliver() {
    if (!batch_.empty()) sink_.OnChunks(batch_);
    batch_.clear();
  }

  std::vector<io::DirectoryEntry> List(const std::string& path) {
    std::vector<io::DirectoryEntry> entries;
    const int result = tier_.file_system_.List(path, &entries);
    if (result < 0 && result != -ENOENT) ++report_.errors;
    return entries;
  }

  const TierDirectory& tier_;
  ScanSink& sink_;
  const std::stop_token stop_;
  std::vector<ScannedChunk> batch_;
  ScanReport report_;
};

Result<ScanReport> TierDirectory::Scan(ScanSink& sink, std::stop_token stop) {
  return Scanner(*this, sink, std::move(stop)).Run();
}

}  // namespace kvstream::tier
