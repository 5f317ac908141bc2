#include "trace/builtin_parameters.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/units.h"
#include "trace/synth.h"

namespace kvstream::trace {
namespace {

template <typename Number>
bool ParseWhole(std::string_view text, Number& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  return code == std::errc{} && stop == end;
}

}  // namespace

BuiltinParameters::BuiltinParameters(std::string_view source) : source_(source) {
  std::string_view rest = source.substr(kBuiltinPrefix.size());
  const auto take = [&rest] {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    return part;
  };
  kind_ = take();
  while (!rest.empty()) assignments_.emplace_back(take());
}

void BuiltinParameters::AddCount(std::string_view name, uint64_t* value, CountRange range) {
  parameters_.push_back({.name = name, .count = value, .range = range});
}

void BuiltinParameters::AddNumber(std::string_view name, double* value, double min, double max) {
  parameters_.push_back(
      {.name = name, .number = value, .range = {}, .number_min = min, .number_max = max});
}

void BuiltinParameters::AddTime(std::string_view name, std::chrono::nanoseconds* value) {
  parameters_.push_back({.name = name, .time = value, .range = {}});
}

void BuiltinParameters::AddText(std::string_view name, std::string* value) {
  parameters_.push_back({.name = name, .text = value, .range = {}});
}

Status BuiltinParameters::Assign() const {
  for (const std::string& assignment : assignments_) KVS_TRY(AssignOne(assignment));
  return {};
}

Error BuiltinParameters::Invalid(std::string_view what) const {
  return Error(ErrorCode::kInvalidArgument, fmt::format("{}: {}", source_, what));
}

Status BuiltinParameters::AssignOne(std::string_view assignment) const {
  const size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) {
    return Invalid(fmt::format("'{}' is not of the form name=value", assignment));
  }
  const std::string_view name = assignment.substr(0, equals);
  const std::string_view text = assignment.substr(equals + 1);
  std::string known;
  for (const Parameter& parameter : parameters_) {
    known += fmt::format(" {}", parameter.name);
    if (parameter.name != name) continue;
    if (parameter.count != nullptr) return SetCount(parameter, text);
    if (parameter.number != nullptr) return SetNumber(parameter, text);
    if (parameter.time != nullptr) return SetTime(parameter, text);
    *parameter.text = text;
    return {};
  }
  return Invalid(fmt::format("unknown parameter '{}'; known:{}", name, known));
}

Status BuiltinParameters::SetCount(const Parameter& parameter, std::string_view text) const {
  uint64_t value = 0;
  if (!ParseWhole(text, value) || value < parameter.range.min || value > parameter.range.max) {
    return Invalid(fmt::format("'{}={}' is not an integer from {} to {}", parameter.name, text,
                               parameter.range.min, parameter.range.max));
  }
  *parameter.count = value;
  return {};
}

Status BuiltinParameters::SetNumber(const Parameter& parameter, std::string_view text) const {
  double value = 0;
  if (!ParseWhole(text, value) ||
      !(value >= parameter.number_min && value <= parameter.number_max)) {
    return Invalid(fmt::format("'{}={}' is not a number from {:g} to {:g}", parameter.name, text,
                               parameter.number_min, parameter.number_max));
  }
  *parameter.number = value;
  return {};
}

Status BuiltinParameters::SetTime(const Parameter& parameter, std::string_view text) const {
  Result<std::chrono::nanoseconds> time = base::ParseDuration(text);
  if (!time) {
    return std::move(time).error().WithContext(fmt::format("{}: {}", source_, parameter.name));
  }
  *parameter.time = *time;
  return {};
}

}  // namespace kvstream::trace
