#include "engine/open_files.h"

#include <algorithm>

namespace kvstream::engine {
namespace {

constexpr size_t kFilesMax = 64;

}  // namespace

Result<std::shared_ptr<OpenFile>> OpenFiles::Acquire(const chunk::ChunkMeta& meta) {
  auto found = files_.find(meta.write_id);
  if (found == files_.end()) {
    KVS_TRY_ASSIGN(std::shared_ptr<OpenFile> file, Open(meta));
    if (files_.size() >= kFilesMax) DropOldest();
    found = files_.emplace(meta.write_id, Cached{std::move(file), 0}).first;
  }
  found->second.last_use = ++uses_;
  return found->second.file;
}

Result<std::shared_ptr<OpenFile>> OpenFiles::Open(const chunk::ChunkMeta& meta) {
  const chunk::Fingerprint fingerprint = context_.namespaces.FingerprintOf(meta.ns);
  KVS_TRY_ASSIGN(const tier::OpenedChunk opened,
                 context_.directory.OpenChunk(fingerprint, meta.key, context_.direct));
  auto file = std::make_shared<OpenFile>(context_.files, opened.fd);
  if (opened.file_bytes != meta.FileBytes()) {
    return Error(ErrorCode::kCorruption, "the file has another length");
  }
  if (context_.verify) return file;
  KVS_TRY_ASSIGN(const chunk::DecodedFooter footer,
                 context_.directory.ReadFooter(opened.fd, opened.file_bytes, meta.ns));
  if (footer.meta->write_id != meta.write_id) {
    return Error(ErrorCode::kCorruption, "the file is another version");
  }
  return file;
}

void OpenFiles::CloseIdle() {
  std::erase_if(files_, [](const auto& entry) { return entry.second.file.use_count() == 1; });
}

void OpenFiles::DropOldest() {
  const auto older = [](const auto& a, const auto& b) {
    return a.second.last_use < b.second.last_use;
  };
  files_.erase(std::min_element(files_.begin(), files_.end(), older));
}

}  // namespace kvstream::engine
