#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kvstream::chunk {

/// CRC-32C (Castagnoli, as in RFC 3720) of `data`, of any length. Any thread.
uint32_t Crc32c(std::span<const std::byte> data);

/// The CRC-32C of A followed by `data`, where `crc` is that of A. Starts from 0, the CRC of
/// nothing.
uint32_t ExtendCrc32c(uint32_t crc, std::span<const std::byte> data);

}  // namespace kvstream::chunk
