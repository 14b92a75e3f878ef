// SPDX-License-Identifier: Apache-2.0
#include "generation/json.h"

#include <utility>

#include "absl/strings/strip.h"
#include "nlohmann/json.hpp"

namespace attnrun::gen {
namespace {

// Makes a Json of what nlohmann's parser finds, one event after the other. An event returns false to
// end the parsing.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(int64_t value) override { return Add(value); }
  bool number_unsigned(uint64_t value) override { return Add(value); }
  bool number_float(double value, const std::string& /*text*/) override { return Add(value); }
  bool string(std::string& value) override { return Add(std::move(value)); }
  bool binary(nlohmann::json::binary_t& /*value*/) override { return false; }
  bool start_object(size_t /*size*/) override { return Open(Json::Object()); }
  bool start_array(size_t /*size*/) override { return Open(Json::Array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(std::string& name) override {
    key_ = std::move(name);
    return true;
  }
  bool parse_error(size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::json::exception& /*error*/) override {
    return false;
  }

  Json& root() { return root_; }

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
};

// The text with null in place of NaN, Infinity and -Infinity, which Python writes and JSON lacks.
std::string OnlyFinite(absl::string_view text) {
  std::string finite;
  bool quoted = false;
  while (!text.empty()) {
    if (text[0] == '"') quoted = !quoted;
    const bool replaced =
        !quoted && (absl::ConsumePrefix(&text, "NaN") || absl::ConsumePrefix(&text, "Infinity") ||
                    absl::ConsumePrefix(&text, "-Infinity"));
    if (replaced) {
      finite += "null";
      continue;
    }
    // A quote behind a backslash ends no string.
    const size_t count = quoted && text[0] == '\\' && text.size() > 1 ? 2 : 1;
    finite.append(text.data(), count);
    text.remove_prefix(count);
  }
  return finite;
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
  if (!nlohmann::json::sax_parse(OnlyFinite(text), &builder) ||
      builder.root().As<Json::Object>() == nullptr) {
    return absl::InvalidArgumentError("expected a JSON object");
  }
  return std::move(builder.root());
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
