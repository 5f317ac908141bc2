#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "kvstream/status.h"

#include "trace/request_trace.h"

namespace kvstream::cli {

/// The flags that choose a trace: its source, format, order, and the part that is taken. Bind adds
/// them to a command line; the object outlives the parsing. Read turns them into options.
class TraceFlags {
 public:
  void Bind(CLI::App* app);

  /// kInvalidArgument names the flag. Reads no file.
  Result<trace::TraceOptions> Read() const;

  /// File or "builtin:…".
  const std::string& source() const { return source_; }
  uint32_t chunk_tokens() const { return options_.chunk_tokens; }
  uint64_t seed() const { return options_.seed; }

 private:
  std::string source_ = "builtin:agent";
  std::string order_ = "recorded";
  trace::TraceOptions options_;  // without the order
};

}  // namespace kvstream::cli
