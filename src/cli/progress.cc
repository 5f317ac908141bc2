#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <string>

#include <fmt/core.h>

namespace kvstream::cli {
namespace {

constexpr std::chrono::milliseconds kUpdateInterval{500};

}  // namespace

Progress Progress::OnTerminal() { return {stderr, isatty(STDERR_FILENO) == 1}; }

void Progress::Update(TimePoint now, std::string_view line) {
  if (!enabled_ || now < next_) return;
  next_ = now + kUpdateInterval;
  const size_t blanks = shown_chars_ > line.size() ? shown_chars_ - line.size() : 0;
  fmt::print(out_, "\r{}{}", line, std::string(blanks, ' '));
  std::fflush(out_);
  shown_chars_ = line.size();
}

void Progress::Clear() {
  if (shown_chars_ == 0) return;
  fmt::print(out_, "\r{}\r", std::string(shown_chars_, ' '));
  std::fflush(out_);
  shown_chars_ = 0;
  next_ = TimePoint::min();
}

}  // namespace kvstream::cli
