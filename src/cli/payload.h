#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "kvstream/chunk_key.h"

namespace kvstream::cli {

/// The payload of a chunk is a function of its key, so that every byte read can be compared without
/// keeping what was written. The 64-bit words of one payload are all different, and two keys share
/// none but by accident: a shifted, swapped, stale or missing block cannot pass. About 10 GB/s a
/// core.

/// Fills `out` with the payload's bytes [offset, offset + out.size()).
void FillPayload(const ChunkKey& key, uint64_t offset, std::span<std::byte> out);

/// Compares `data` with the payload's bytes from `offset`. Returns the offset within the payload of
/// the first wrong byte, or nothing.
std::optional<uint64_t> VerifyPayload(const ChunkKey& key, uint64_t offset,
                                      std::span<const std::byte> data);

/// Spoils every 512-byte sector of `data`, so that a read that did not happen cannot be taken for
/// one that did because the memory still holds the same chunk.
void SpoilPayload(std::span<std::byte> data);

}  // namespace kvstream::cli
