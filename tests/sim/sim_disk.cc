#include "sim/sim_disk.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace kvstream::test {
namespace {

SimFileSystemOptions FileSystemOptions(uint64_t device, uint64_t capacity, FaultPlan* faults) {
  SimFileSystemOptions options;
  options.device = device;
  options.capacity_bytes = capacity;
  options.faults = faults;
  return options;
}

bool IsTemp(const std::string& path) { return path.ends_with(".tmp"); }

bool IsControl(const std::string& path) {
  return path.starts_with(std::string(kSimRoot) + "/.kvstream/");
}

void MakeParents(SimFileSystem& files, const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const int made = files.MakeDirectory(path.substr(0, slash));
    KVS_ASSERT(made == 0 || made == -EEXIST);
  }
}

/// What is left of `bytes` when writes were cut off: anything.
void Mangle(std::vector<std::byte>& bytes, base::Prng& random) {
  const size_t from = random.Below(bytes.size() + 1);
  switch (random.Below(3)) {
    case 0:
      bytes.resize(from);
      break;
    case 1:
      std::fill(bytes.begin() + static_cast<ptrdiff_t>(from), bytes.end(), std::byte{0});
      break;
    default:
      std::fill(bytes.begin(), bytes.end(), std::byte{0});
      break;
  }
}

}  // namespace

SimDisk::SimDisk(uint64_t seed, uint64_t device_number, uint64_t file_system_bytes)
    : transfer_faults(seed),
      file_faults(seed + 1),
      files(FileSystemOptions(device_number, file_system_bytes, &file_faults)) {
  KVS_ASSERT(files.MakeDirectory(kSimRoot) == 0);
}

uint64_t SimDisk::ChunkBytes() {
  const std::set<uint64_t> others = std::exchange(foreign_inodes, {});
  const uint64_t bytes = OwnedBytes();
  foreign_inodes = others;
  return bytes;
}

uint64_t SimDisk::OwnedBytes() {
  uint64_t bytes = 0;
  for (const std::string& path : files.AllFiles()) {
    if (IsControl(path) || (!IsTemp(path) && !path.ends_with(".kv"))) continue;
    io::FileInfo info;
    KVS_ASSERT(files.Stat(path, &info) == 0);
    if (!foreign_inodes.contains(info.inode)) bytes += info.allocated_bytes;
  }
  return bytes;
}

std::vector<std::string> SimDisk::TempFiles() const {
  std::vector<std::string> paths = files.AllFiles();
  std::erase_if(paths, [](const std::string& path) { return IsControl(path) || !IsTemp(path); });
  return paths;
}

std::vector<std::string> SimDisk::ChunkFiles() const {
  std::vector<std::string> paths = files.AllFiles();
  std::erase_if(paths, [](const std::string& path) { return !path.ends_with(".kv"); });
  return paths;
}

bool SimDisk::IsForeign(const std::string& path) {
  if (foreign_inodes.empty()) return false;
  io::FileInfo info;
  return files.Stat(path, &info) == 0 && foreign_inodes.contains(info.inode);
}

void SimDisk::ClearFaults() {
  transfer_faults.Clear();
  transfer_faults.Release();
  file_faults.Clear();
}

std::unique_ptr<SimDisk> CrashCopy(SimDisk& disk, uint64_t seed, bool power_cut) {
  base::Prng random(seed);
  io::FileInfo root;
  KVS_ASSERT(disk.files.Stat(kSimRoot, &root) == 0);
  auto copy = std::make_unique<SimDisk>(seed, root.device, UINT64_MAX);
  copy->read_device = disk.read_device;
  copy->write_device = disk.write_device;
  copy->unlinks_reliable = disk.unlinks_reliable;
  copy->contents_reliable = disk.contents_reliable && !power_cut;
  for (const std::string& path : disk.files.AllFiles()) {
    std::vector<std::byte> bytes = disk.files.Contents(path);
    const bool lost = power_cut && path.ends_with(".kv") && random.Chance(0.3);
    if (lost || (IsTemp(path) && random.Chance(0.5))) Mangle(bytes, random);
    MakeParents(copy->files, path);
    copy->files.SetContents(path, bytes);
    if (!disk.IsForeign(path)) continue;
    io::FileInfo info;
    KVS_ASSERT(copy->files.Stat(path, &info) == 0);
    copy->foreign_inodes.insert(info.inode);
  }
  return copy;
}

}  // namespace kvstream::test
