#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kvstream/status.h"

#include "trace/request_trace.h"

namespace kvstream::trace {

/// Inclusive limits of a parameter.
struct CountRange {
  uint64_t min = 0;
  uint64_t max = kPromptTokensMax;
};

/// The parts of "builtin:KIND,name=value,…". A generator names each parameter with the variable
/// that holds its default, then calls Assign. Not thread-safe.
class BuiltinParameters {
 public:
  /// `source` begins with kBuiltinPrefix.
  explicit BuiltinParameters(std::string_view source);

  const std::string& source() const { return source_; }
  std::string_view kind() const { return kind_; }

  void AddCount(std::string_view name, uint64_t* value, CountRange range = {});
  void AddNumber(std::string_view name, double* value, double min, double max);
  void AddTime(std::string_view name, std::chrono::nanoseconds* value);
  void AddText(std::string_view name, std::string* value);

  /// Sets the variables. kInvalidArgument names what is wrong and lists the known parameters.
  Status Assign() const;

  /// kInvalidArgument "<source>: <what>".
  Error Invalid(std::string_view what) const;

 private:
  struct Parameter {
    std::string_view name;
    uint64_t* count = nullptr;  // exactly one of the four pointers is set
    double* number = nullptr;
    std::chrono::nanoseconds* time = nullptr;
    std::string* text = nullptr;
    CountRange range;
    double number_min = 0;
    double number_max = 0;
  };

  Status AssignOne(std::string_view assignment) const;
  Status SetCount(const Parameter& parameter, std::string_view text) const;
  Status SetNumber(const Parameter& parameter, std::string_view text) const;
  Status SetTime(const Parameter& parameter, std::string_view text) const;

  std::string source_;
  std::string kind_;
  std::vector<std::string> assignments_;
  std::vector<Parameter> parameters_;
};

}  // namespace kvstream::trace
