#include "trace/json_lines.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace kvstream::trace {
namespace {

constexpr double kNumberMax = 1e15;

bool IsBlank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

std::string_view TypeName(const simdjson::dom::element& element) {
  using simdjson::dom::element_type;
  switch (element.type()) {
    case element_type::ARRAY:
      return "an array";
    case element_type::OBJECT:
      return "an object";
    case element_type::STRING:
      return "a string";
    case element_type::BOOL:
      return "a truth value";
    case element_type::NULL_VALUE:
      return "null";
    default:
      return "a number";
  }
}

}  // namespace

JsonLines::JsonLines(std::string name, std::string text, Layout layout)
    : name_(std::move(name)), text_(std::move(text)), text_bytes_(text_.size()), layout_(layout) {
  text_.resize(text_bytes_ + simdjson::SIMDJSON_PADDING, '\0');
}

void JsonLines::Rewind() {
  first_ = true;
  offset_ = 0;
  line_ = 0;
}

Error JsonLines::Fail(std::string_view what) const {
  const std::string place = line_ == 0 ? name_ : fmt::format("{}:{}", name_, line_);
  return Error(ErrorCode::kInvalidArgument, fmt::format("{}: {}", place, what));
}

Result<std::optional<JsonLines::Object>> JsonLines::Next() {
  while (offset_ < text_bytes_) {
    const std::string_view rest(text_.data() + offset_, text_bytes_ - offset_);
    const std::string_view line = rest.substr(0, rest.find('\n'));
    const bool is_first = first_;
    offset_ = std::min(text_bytes_, offset_ + line.size() + 1);
    ++line_;
    if (IsBlank(line)) continue;
    first_ = false;
    if (!is_first || layout_ == Layout::kLines || offset_ == text_bytes_) return Parse(line);
    Result<std::optional<Object>> object = Parse(line);
    if (object) return object;
    // Not one object a line: the whole text is one.
    offset_ = text_bytes_;
    line_ = 0;
    return Parse(rest);
  }
  return std::optional<Object>();
}

Result<std::optional<JsonLines::Object>> JsonLines::Parse(std::string_view text) {
  Element element;
  const simdjson::error_code code =
      parser_.parse(text.data(), text.size(), /*realloc_if_needed=*/false).get(element);
  if (code == simdjson::MEMALLOC) return Error(ErrorCode::kNoSpace, "no memory for a line of JSON");
  if (code != simdjson::SUCCESS) {
    return Fail(fmt::format("not a complete JSON object{} ({})", line_ == 0 ? "" : " on one line",
                            simdjson::error_message(code)));
  }
  Object object;
  if (element.get(object) != simdjson::SUCCESS) {
    return Fail(fmt::format("expected a JSON object, found {}", TypeName(element)));
  }
  return std::optional<Object>(object);
}

bool JsonLines::Has(const Object& object, std::string_view field) const {
  return object[field].error() == simdjson::SUCCESS;
}

Result<JsonLines::Element> JsonLines::Field(const Object& object, std::string_view field) const {
  Element element;
  if (object[field].get(element) != simdjson::SUCCESS) {
    return Fail(fmt::format("field '{}' is missing", field));
  }
  return element;
}

Result<JsonLines::Array> JsonLines::ArrayField(const Object& object, std::string_view field) const {
  KVS_TRY_ASSIGN(const Element element, Field(object, field));
  Array array;
  if (element.get(array) != simdjson::SUCCESS) {
    return Fail(fmt::format("'{}' must be an array, not {}", field, TypeName(element)));
  }
  return array;
}

Result<uint64_t> JsonLines::IntegerField(const Object& object, std::string_view field,
                                         Range range) const {
  KVS_TRY_ASSIGN(const Element element, Field(object, field));
  return Integer(element, field, range);
}

Result<int64_t> JsonLines::SignedField(const Object& object, std::string_view field,
                                       int64_t min) const {
  KVS_TRY_ASSIGN(const Element element, Field(object, field));
  int64_t value = 0;
  if (!element.is<int64_t>() || element.get(value) != simdjson::SUCCESS || value < min) {
    return Fail(fmt::format("'{}' must be an integer from {} to {}, not {}", field, min, INT64_MAX,
                            simdjson::to_string(element)));
  }
  return value;
}

Result<std::string_view> JsonLines::TextField(const Object& object, std::string_view field) const {
  KVS_TRY_ASSIGN(const Element element, Field(object, field));
  return Text(element, field);
}

Result<double> JsonLines::NumberField(const Object& object, std::string_view field) const {
  KVS_TRY_ASSIGN(const Element element, Field(object, field));
  return Number(element, field);
}

Result<uint64_t> JsonLines::Integer(const Element& element, std::string_view what,
                                    Range range) const {
  uint64_t value = 0;
  if (!element.is<uint64_t>() || element.get(value) != simdjson::SUCCESS || value < range.min ||
      value > range.max) {
    return Fail(fmt::format("'{}' must be an integer from {} to {}, not {}", what, range.min,
                            range.max, simdjson::to_string(element)));
  }
  return value;
}

Result<double> JsonLines::Number(const Element& element, std::string_view what) const {
  double value = 0;
  if (!element.is_number() || element.get(value) != simdjson::SUCCESS ||
      !(value >= 0 && value <= kNumberMax)) {
    return Fail(fmt::format("'{}' must be a number from 0 to {:g}, not {}", what, kNumberMax,
                            simdjson::to_string(element)));
  }
  return value;
}

Result<std::string_view> JsonLines::Text(const Element& element, std::string_view what) const {
  std::string_view text;
  if (element.get(text) != simdjson::SUCCESS) {
    return Fail(fmt::format("'{}' must be a string, not {}", what, TypeName(element)));
  }
  return text;
}

}  // namespace kvstream::trace
