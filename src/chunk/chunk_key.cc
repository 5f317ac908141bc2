#include "kvstream/chunk_key.h"

#include <array>
#include <memory>
#include <vector>

#include <openssl/evp.h>

#include "base/assert.h"
#include "chunk/fingerprint.h"
#include "chunk/format.h"
#include "chunk/hex.h"

namespace kvstream {
namespace {

/// SHA-256 by OpenSSL. It fails only without memory or without its default provider, after which no
/// key can be trusted: an assertion, not an error.
class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    // Fetched once: the implicit fetch behind EVP_sha256() costs more than hashing a short key.
    static const EVP_MD* const digest = EVP_MD_fetch(nullptr, "SHA256", nullptr);
    KVS_ASSERT(context_ != nullptr && digest != nullptr);
    KVS_ASSERT(EVP_DigestInit_ex(context_.get(), digest, nullptr) == 1);
  }

  void Update(const void* data, size_t bytes) {
    KVS_ASSERT(EVP_DigestUpdate(context_.get(), data, bytes) == 1);
  }

  std::array<std::byte, 32> Finish() {
    std::array<std::byte, 32> result;
    unsigned length = 0;
    KVS_ASSERT(EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(result.data()),
                                  &length) == 1);
    KVS_ASSERT(length == result.size());
    return result;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

ChunkKey ChunkKey::FromParts(std::span<const std::string_view> parts) {
  Sha256 digest;
  for (const std::string_view part : parts) {
    std::array<unsigned char, 8> length;
    for (size_t i = 0; i < length.size(); ++i) {
      length[i] = static_cast<unsigned char>(uint64_t{part.size()} >> (8 * i));
    }
    digest.Update(length.data(), length.size());
    digest.Update(part.data(), part.size());
  }
  return {digest.Finish()};
}

std::string ChunkKey::ToHex() const { return chunk::ToHex(bytes); }

Result<ChunkKey> ChunkKey::FromHex(std::string_view hex) {
  ChunkKey key;
  if (!chunk::FromHex(hex, key.bytes)) {
    return Error(ErrorCode::kInvalidArgument, "a chunk key is 64 lower-case hexadecimal digits");
  }
  return key;
}

std::string Identity::Fingerprint() const { return chunk::Fingerprint::Of(*this).ToHex(); }

namespace chunk {

Fingerprint Fingerprint::Of(const Identity& identity) {
  const std::array numbers = {
      std::to_string(kFormatVersion),
      std::to_string(identity.chunk_tokens),
      std::to_string(identity.tensor_parallel_size),
      std::to_string(identity.tensor_parallel_rank),
      std::to_string(identity.pipeline_parallel_size),
      std::to_string(identity.pipeline_parallel_rank),
      std::to_string(identity.row_bytes),
  };
  std::vector<std::string_view> parts = {"kvstream-namespace", identity.model,  identity.revision,
                                         identity.dtype,       identity.layout, identity.adapter,
                                         identity.salt};
  parts.insert(parts.end(), numbers.begin(), numbers.end());
  return {ChunkKey::FromParts(parts).bytes};
}

std::optional<Fingerprint> Fingerprint::FromHex(std::string_view hex) {
  Fingerprint fingerprint;
  if (!chunk::FromHex(hex, fingerprint.bytes)) return std::nullopt;
  return fingerprint;
}

std::string Fingerprint::ToHex() const { return chunk::ToHex(bytes); }

}  // namespace chunk
}  // namespace kvstream
