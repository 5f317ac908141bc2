#include "tier/namespace_file.h"

#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "chunk/format.h"

namespace kvstream::tier {
namespace {

constexpr std::string_view kVersionField = "kvstream_namespace";
constexpr std::string_view kFingerprintField = "fingerprint";

constexpr std::array<std::pair<std::string_view, std::string Identity::*>, 6> kTexts = {{
    {"model", &Identity::model},
    {"revision", &Identity::revision},
    {"dtype", &Identity::dtype},
    {"layout", &Identity::layout},
    {"adapter", &Identity::adapter},
    {"salt", &Identity::salt},
}};

constexpr std::array<std::pair<std::string_view, uint32_t Identity::*>, 5> kNumbers = {{
    {"chunk_tokens", &Identity::chunk_tokens},
    {"tensor_parallel_size", &Identity::tensor_parallel_size},
    {"tensor_parallel_rank", &Identity::tensor_parallel_rank},
    {"pipeline_parallel_size", &Identity::pipeline_parallel_size},
    {"pipeline_parallel_rank", &Identity::pipeline_parallel_rank},
}};

constexpr std::string_view kRowBytesField = "row_bytes";

Error Corrupt(std::string_view what) { return Error(ErrorCode::kCorruption, std::string(what)); }

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

/// Reads one flat JSON object of strings and unsigned integers: what EncodeNamespace writes, with
/// any white space. Escapes other than \" \\ and \u00xx are refused.
class FlatJson {
 public:
  explicit FlatJson(std::string_view text) : text_(text) {}

  Status Parse() {
    if (!Take('{')) return Corrupt("not a JSON object");
    do {
      const std::optional<std::string> field = String();
      if (!field || !Take(':')) return Corrupt("a field without a name");
      if (!Value(*field)) return Corrupt(fmt::format("the value of {}", *field));
    } while (Take(','));
    if (!Take('}')) return Corrupt("the object does not end");
    SkipSpace();
    return text_.empty() ? Status() : Corrupt("text after the object");
  }

  std::optional<std::string> TakeText(std::string_view field) { return TakeFrom(texts_, field); }

  std::optional<uint64_t> TakeNumber(std::string_view field) { return TakeFrom(numbers_, field); }

  bool empty() const { return texts_.empty() && numbers_.empty(); }

 private:
  template <typename T>
  using Fields = std::map<std::string, T, std::less<>>;

  template <typename T>
  static std::optional<T> TakeFrom(Fields<T>& fields, std::string_view field) {
    const auto found = fields.find(field);
    if (found == fields.end()) return std::nullopt;
    T value = std::move(found->second);
    fields.erase(found);
    return value;
  }

  void SkipSpace() {
    const size_t begin = text_.find_first_not_of(" \t\r\n");
    text_.remove_prefix(begin == std::string_view::npos ? text_.size() : begin);
  }

  bool Take(char c) {
    SkipSpace();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }

  bool Value(const std::string& field) {
    SkipSpace();
    if (text_.starts_with('"')) {
      std::optional<std::string> value = String();
      return value && texts_.emplace(field, std::move(*value)).second;
    }
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc()) return false;
    text_.remove_prefix(static_cast<size_t>(end - text_.data()));
    return numbers_.emplace(field, value).second;
  }

  std::optional<std::string> String() {
    if (!Take('"')) return std::nullopt;
    std::string value;
    while (!text_.empty()) {
      const char c = text_.front();
      text_.remove_prefix(1);
      if (c == '"') return value;
      if (static_cast<unsigned char>(c) < 0x20) return std::nullopt;
      const std::optional<char> plain = c == '\\' ? Escape() : c;
      if (!plain) return std::nullopt;
      value += *plain;
    }
    return std::nullopt;
  }

  std::optional<char> Escape() {
    if (text_.empty()) return std::nullopt;
    const char c = text_.front();
    text_.remove_prefix(1);
    if (c == '"' || c == '\\') return c;
    if (c != 'u' || text_.size() < 4 || !text_.starts_with("00")) return std::nullopt;
    unsigned code = 0;
    const auto [end, error] = std::from_chars(text_.data() + 2, text_.data() + 4, code, 16);
    if (error != std::errc() || end != text_.data() + 4 || code >= 0x20) return std::nullopt;
    text_.remove_prefix(4);
    return static_cast<char>(code);
  }

  std::string_view text_;
  Fields<std::string> texts_;
  Fields<uint64_t> numbers_;
};

Status CheckVersion(std::optional<uint64_t> version) {
  if (!version) return Corrupt(fmt::format("no {}", kVersionField));
  if (*version > chunk::kFormatVersion) {
    return Error(ErrorCode::kUnsupported,
                 fmt::format("format version {}, this build knows up to {}", *version,
                             chunk::kFormatVersion));
  }
  if (*version != chunk::kFormatVersion) return Corrupt(fmt::format("format version {}", *version));
  return {};
}

Result<Identity> TakeIdentity(FlatJson* json) {
  Identity identity;
  for (const auto& [field, member] : kTexts) {
    std::optional<std::string> value = json->TakeText(field);
    if (!value) return Corrupt(fmt::format("no {}", field));
    identity.*member = std::move(*value);
  }
  for (const auto& [field, member] : kNumbers) {
    const std::optional<uint64_t> value = json->TakeNumber(field);
    if (!value || *value > UINT32_MAX) return Corrupt(fmt::format("no {}", field));
    identity.*member = static_cast<uint32_t>(*value);
  }
  const std::optional<uint64_t> row_bytes = json->TakeNumber(kRowBytesField);
  if (!row_bytes) return Corrupt(fmt::format("no {}", kRowBytesField));
  identity.row_bytes = *row_bytes;
  return identity;
}

}  // namespace

std::string EncodeNamespace(const Identity& identity) {
  std::string text = fmt::format("{{\n  \"{}\": {},\n  \"{}\": \"{}\"", kVersionField,
                                 chunk::kFormatVersion, kFingerprintField, identity.Fingerprint());
  for (const auto& [field, member] : kTexts) {
    text += fmt::format(",\n  \"{}\": {}", field, Quoted(identity.*member));
  }
  for (const auto& [field, member] : kNumbers) {
    text += fmt::format(",\n  \"{}\": {}", field, identity.*member);
  }
  return text + fmt::format(",\n  \"{}\": {}\n}}\n", kRowBytesField, identity.row_bytes);
}

Result<NamespaceRecord> DecodeNamespace(std::string_view text) {
  if (text.size() > kNamespaceFileBytesMax) return Corrupt("too long");
  FlatJson json(text);
  KVS_TRY(json.Parse());
  KVS_TRY(CheckVersion(json.TakeNumber(kVersionField)));
  KVS_TRY_ASSIGN(Identity identity, TakeIdentity(&json));
  const std::optional<std::string> stated = json.TakeText(kFingerprintField);
  if (!stated) return Corrupt(fmt::format("no {}", kFingerprintField));
  if (!json.empty()) return Corrupt("an unknown field");
  const chunk::Fingerprint fingerprint = chunk::Fingerprint::Of(identity);
  if (*stated != fingerprint.ToHex()) return Corrupt("its fingerprint is not that of its fields");
  return NamespaceRecord{std::move(identity), fingerprint};
}

}  // namespace kvstream::tier
