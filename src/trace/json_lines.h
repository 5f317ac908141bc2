#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <simdjson.h>

#include "kvstream/status.h"

namespace kvstream::trace {

/// Goes through a text with one JSON object a line and names file and line in every error. Blank
/// lines are skipped. A text whose first line alone is no JSON may be one object over many lines,
/// if the caller allows it; errors then name the file only. An object is valid until the next call
/// of Next. Not thread-safe.
class JsonLines {
 public:
  using Object = simdjson::dom::object;
  using Element = simdjson::dom::element;
  using Array = simdjson::dom::array;

  /// Inclusive limits of an integer.
  struct Range {
    uint64_t min = 0;
    uint64_t max = UINT64_MAX;
  };

  enum class Layout : uint8_t { kLines, kLinesOrOneObject };

  JsonLines(std::string name, std::string text, Layout layout = Layout::kLines);

  const std::string& name() const { return name_; }

  /// The next line's object; none at the end. kInvalidArgument if it is not one.
  Result<std::optional<Object>> Next();
  /// Starts again at the first line.
  void Rewind();

  /// kInvalidArgument "<name>:<line>: <what>"; without a line before the first one.
  Error Fail(std::string_view what) const;

  bool Has(const Object& object, std::string_view field) const;
  Result<Element> Field(const Object& object, std::string_view field) const;
  Result<Array> ArrayField(const Object& object, std::string_view field) const;
  Result<uint64_t> IntegerField(const Object& object, std::string_view field, Range range) const;
  Result<int64_t> SignedField(const Object& object, std::string_view field, int64_t min) const;
  Result<std::string_view> TextField(const Object& object, std::string_view field) const;
  Result<double> NumberField(const Object& object, std::string_view field) const;
  /// `what` names the element in the error.
  Result<uint64_t> Integer(const Element& element, std::string_view what, Range range) const;
  /// A number from 0 to 1e15.
  Result<double> Number(const Element& element, std::string_view what) const;
  Result<std::string_view> Text(const Element& element, std::string_view what) const;

 private:
  Result<std::optional<Object>> Parse(std::string_view text);

  std::string name_;
  std::string text_;  // followed by simdjson's padding
  size_t text_bytes_ = 0;
  size_t offset_ = 0;
  uint64_t line_ = 0;
  bool first_ = true;  // no line but blank ones so far
  Layout layout_;
  simdjson::dom::parser parser_;
};

}  // namespace kvstream::trace
