// SPDX-License-Identifier: Apache-2.0
#include "generation/json.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "nlohmann/json.hpp"

namespace attnrun::gen {
namespace {

// The texts that stand for infinities, which JSON lacks: no others begin with a zero.
constexpr absl::string_view kPlusInfinity("\0+", 2);
constexpr absl::string_view kMinusInfinity("\0-", 2);

// Makes a Json of what nlohmann's parser finds, one event after the other. An event returns false
// to end the parsing.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(int64_t value) override { return Add(value); }
  bool number_unsigned(uint64_t value) override { return Add(value); }
  bool number_float(double value, const std::string& /*text*/) override { return Add(value); }
  bool string(std::string& value) override {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (value == kPlusInfinity) return Add(kInfinity);
    if (value == kMinusInfinity) return Add(-kInfinity);
    return Add(std::move(value));
  }
  bool binary(nlohmann::json::binary_t& /*value*/) override { return false; }
  bool start_object(size_t /*size*/) override { return Open(Json::Object()); }
  bool start_array(size_t /*size*/) override { return Open(Json::Array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(std::string& name) override {
    key_ = std::move(name);
    return true;
  }
  bool parse_error(size_t position, const std::string& /*token*/,
                   const nlohmann::json::exception& /*error*/) override {
    error_position_ = position;
    return false;
  }

  Json& root() { return root_; }
  std::optional<size_t> error_position() const { return error_position_; }

 private:
  // The value that comes next.
  Json& Next() {
    if (open_.empty()) return root_;
    auto& parent = open_.back()->value;
    if (auto* const array = std::get_if<Json::Array>(&parent)) return array->emplace_back();
    return std::get<Json::Object>(parent)[std::move(key_)];
  }
  template <typename T>
  bool Add(T value) {
    Next().value = std::move(value);
    return true;
  }
  template <typename T>
  bool Open(T value) {
    // Texts nested deeper than any configuration would exhaust the stack.
    constexpr size_t kDeepest = 64;
    if (open_.size() == kDeepest) return false;
    Json& next = Next();
    next.value = std::move(value);
    open_.push_back(&next);
    return true;
  }
  bool Close() {
    open_.pop_back();
    return true;
  }

  Json root_;
  // The arrays and objects around the next value. None of them moves while it is open.
  std::vector<Json*> open_;
  std::string key_;
  std::optional<size_t> error_position_;
};

// Python writes NaN, Infinity and -Infinity, which JSON lacks: puts null and the texts above in
// their places.
std::string WithoutPythonNumbers(absl::string_view text) {
  static constexpr std::pair<absl::string_view, absl::string_view> kReplaced[] = {
      {"NaN", "null"}, {"Infinity", "\"\\u0000+\""}, {"-Infinity", "\"\\u0000-\""}};
  std::string replaced;
  bool quoted = false;
  while (!text.empty()) {
    if (text[0] == '"') quoted = !quoted;
    const auto begins = [&](const auto& one) { return absl::StartsWith(text, one.first); };
    const auto* const found = quoted ? std::end(kReplaced) : absl::c_find_if(kReplaced, begins);
    if (found != std::end(kReplaced)) {
      absl::StrAppend(&replaced, found->second);
      text.remove_prefix(found->first.size());
      continue;
    }
    // A quote behind a backslash ends no string.
    const size_t count = quoted && text[0] == '\\' && text.size() > 1 ? 2 : 1;
    replaced.append(text.data(), count);
    text.remove_prefix(count);
  }
  return replaced;
}

struct Writer {
  void operator()(const Json::Array& array) const {
    const char* separator = "[";
    for (const Json& item : array) {
      out->append(std::exchange(separator, ","));
      std::visit(*this, item.value);
    }
    out->append(array.empty() ? "[]" : "]");
  }
  void operator()(const Json::Object& object) const {
    const char* separator = "{";
    for (const auto& [name, item] : object) {
      out->append(std::exchange(separator, ","));
      (*this)(name);
      out->append(":");
      std::visit(*this, item.value);
    }
    out->append(object.empty() ? "{}" : "}");
  }
  template <typename T>
  void operator()(const T& value) const {
    using Other = nlohmann::json;
    out->append(Other(value).dump(-1, ' ', false, Other::error_handler_t::replace));
  }

  std::string* out;
};

}  // namespace

std::optional<double> Json::Number() const {
  if (const auto* number = As<int64_t>()) return static_cast<double>(*number);
  if (const auto* number = As<uint64_t>()) return static_cast<double>(*number);
  if (const auto* number = As<double>()) return *number;
  return std::nullopt;
}

absl::StatusOr<Json> ParseObject(absl::string_view text) {
  Builder builder;
  const std::string json = WithoutPythonNumbers(text);
  const bool parsed = nlohmann::json::sax_parse(json, &builder);
  if (parsed && builder.root().As<Json::Object>() != nullptr) return std::move(builder.root());
  std::string place;
  if (const std::optional<size_t> end = builder.error_position()) {
    const auto read = absl::MakeConstSpan(json).first(std::min(*end, json.size()));
    place = absl::StrCat(", but the text is no JSON at line ", 1 + absl::c_count(read, '\n'));
  }
  return absl::InvalidArgumentError(absl::StrCat("expected a JSON object", place));
}

std::string ToText(const Json& json) {
  std::string text;
  std::visit(Writer{&text}, json.value);
  return text;
}

const Json& Field(const Json& json, absl::string_view name) {
  static const Json& none = *new Json();
  const auto* const object = json.As<Json::Object>();
  if (object == nullptr) return none;
  const auto found = object->find(name);
  return found == object->end() ? none : found->second;
}

}  // namespace attnrun::gen
