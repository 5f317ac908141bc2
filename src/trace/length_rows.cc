#include "trace/length_rows.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include <fmt/format.h>

namespace kvstream::trace {
namespace {

Error Invalid(std::string_view what) {
  return Error(ErrorCode::kInvalidArgument, std::string(what));
}

}  // namespace

Result<LengthRows> LengthRows::Create(const TraceOptions& options, bool has_sessions) {
  constexpr std::string_view kShared = "shared:";
  const std::string_view text = options.prefixes;
  LengthRows rows;
  rows.name_ = text;
  if (text.empty()) {
    return Invalid(
        "lengths alone do not say which prefixes are shared, and every hit ratio would be 0; say "
        "what is (prefixes shared:TOKENS, session or none), or use a trace with block ids");
  }
  if (text == "session") {
    if (!has_sessions) return Invalid("prefixes 'session' need a file that names sessions");
    rows.rule_ = Rule::kSession;
    return rows;
  }
  if (text.starts_with(kShared)) {
    const std::string_view digits = text.substr(kShared.size());
    const char* const end = digits.data() + digits.size();
    const auto [stop, code] = std::from_chars(digits.data(), end, rows.shared_tokens_);
    if (code == std::errc{} && stop == end && rows.shared_tokens_ <= kPromptTokensMax) {
      rows.rule_ = Rule::kShared;
      return rows;
    }
  } else if (text == "none") {
    return rows;
  }
  return Invalid(fmt::format("unknown prefixes '{}'; known: shared:TOKENS (up to {}) session none",
                             text, kPromptTokensMax));
}

void LengthRows::Add(TraceBuilder& builder, uint32_t session, SourceRow row) {
  if (rule_ == Rule::kShared) {
    row.parent = longest_.request;
    row.shared_tokens = shared_tokens_;
  } else if (rule_ == Rule::kSession) {
    if (session >= previous_.size()) previous_.resize(session + 1);
    const Previous& before = previous_[session];
    const bool continues =
        before.request != SourceRow::kNoParent && row.input_tokens >= before.answered_tokens;
    row.parent = continues ? before.request : SourceRow::kNoParent;
    row.shared_tokens = before.input_tokens;
  }
  const std::optional<uint32_t> added = builder.AddRequestTo(session, row);
  if (!added) return;
  const Previous now{.request = *added,
                     .input_tokens = row.input_tokens,
                     .answered_tokens = uint64_t{row.input_tokens} + row.output_tokens};
  if (rule_ == Rule::kSession) previous_[session] = now;
  if (rule_ != Rule::kShared) return;
  const uint32_t held = std::min(longest_.input_tokens, shared_tokens_);
  if (longest_.request == SourceRow::kNoParent ||
      std::min(now.input_tokens, shared_tokens_) > held) {
    longest_ = now;
  }
}

void LengthRows::Describe(RequestTrace& trace) const {
  trace.has_prefixes = rule_ != Rule::kNone;
  trace.notes.push_back(rule_ == Rule::kNone
                            ? "The file has lengths only: nothing is known about shared prefixes."
                            : fmt::format("The file has lengths only: shared prefixes are made up "
                                          "(prefixes {}).",
                                          name_));
}

}  // namespace kvstream::trace
