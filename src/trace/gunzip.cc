#include "trace/gunzip.h"

#include <limits>

#include <fmt/format.h>
#include <zlib.h>

#include "base/assert.h"

namespace kvstream::trace {
namespace {

constexpr size_t kStepBytes = size_t{1} << 18;

/// Owns zlib's state.
class Inflater {
 public:
  explicit Inflater(std::string_view packed) {
    KVS_ASSERT(packed.size() <= std::numeric_limits<uInt>::max());
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream_.avail_in = static_cast<uInt>(packed.size());
    constexpr int kGzipOnly = 16;  // added to the window bits: zlib.h, inflateInit2
    ready_ = inflateInit2(&stream_, MAX_WBITS + kGzipOnly) == Z_OK;
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (ready_) inflateEnd(&stream_);
  }

  bool ready() const { return ready_; }
  size_t left() const { return stream_.avail_in; }
  bool NextMember() { return inflateReset(&stream_) == Z_OK; }
  const char* message() const { return stream_.msg != nullptr ? stream_.msg : "unknown error"; }

  /// Appends up to kStepBytes to `text`; returns zlib's code.
  int Step(std::string& text) {
    const size_t before = text.size();
    text.resize(before + kStepBytes);
    stream_.next_out = reinterpret_cast<Bytef*>(text.data() + before);
    stream_.avail_out = kStepBytes;
    const int code = inflate(&stream_, Z_NO_FLUSH);
    text.resize(before + kStepBytes - stream_.avail_out);
    return code;
  }

 private:
  z_stream stream_{};
  bool ready_ = false;
};

Error Damaged(std::string what) { return Error(ErrorCode::kInvalidArgument, std::move(what)); }

}  // namespace

bool IsGzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

Result<std::string> Gunzip(std::string_view packed) {
  const size_t limit = packed.size() * kUnpackRatioMax + (size_t{1} << 20);
  Inflater inflater(packed);
  if (!inflater.ready()) return Error(ErrorCode::kNoSpace, "zlib cannot allocate its state");
  std::string text;
  while (true) {
    const int code = inflater.Step(text);
    if (text.size() > limit) {
      return Damaged(
          fmt::format("gzip data unpacks to more than {} times its size; unpack the file "
                      "and pass the result if that is meant",
                      kUnpackRatioMax));
    }
    if (code == Z_STREAM_END) {
      if (inflater.left() == 0) return text;
      if (!IsGzip(packed.substr(packed.size() - inflater.left())) || !inflater.NextMember()) {
        return Damaged("gzip data is followed by bytes that are not gzip; write the file again");
      }
    } else if (code == Z_BUF_ERROR) {
      return Damaged("gzip data ends too early; copy the file again");
    } else if (code != Z_OK) {
      return Damaged(
          fmt::format("gzip data is damaged ({}); copy the file again", inflater.message()));
    }
  }
}

}  // namespace kvstream::trace
