// SPDX-License-Identifier: Apache-2.0
#include "graph/attribute.h"

#include <array>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/graph.h"

namespace attnrun {
namespace {

struct Printer {
  std::string operator()(int64_t value) const { return absl::StrCat(value); }
  std::string operator()(float value) const { return absl::StrCat(value); }
  std::string operator()(const std::string& value) const { return absl::StrCat("'", value, "'"); }
  std::string operator()(const Tensor& value) const { return TypeAndShape(value); }
  std::string operator()(const Type& value) const { return attnrun::ToString(value); }
  std::string operator()(const std::shared_ptr<Graph>& value) const {
    return absl::StrCat("graph(", value->nodes().size(), " nodes)");
  }
  template <typename T>
  std::string operator()(const std::vector<T>& values) const {
    return absl::StrCat(
        "[",
        absl::StrJoin(values, ",",
                      [this](std::string* out, const T& value) { out->append((*this)(value)); }),
        "]");
  }
};

}  // namespace

AttributeValue::AttributeValue() = default;
AttributeValue::AttributeValue(const AttributeValue& other) = default;
AttributeValue::AttributeValue(AttributeValue&& other) noexcept = default;
AttributeValue& AttributeValue::operator=(const AttributeValue& other) = default;
AttributeValue& AttributeValue::operator=(AttributeValue&& other) noexcept = default;
AttributeValue::~AttributeValue() = default;

AttributeMap::AttributeMap() = default;
AttributeMap::AttributeMap(std::initializer_list<Entries::value_type> entries)
    : entries_(entries) {}
AttributeMap::AttributeMap(const AttributeMap& other) = default;
AttributeMap::AttributeMap(AttributeMap&& other) noexcept = default;
AttributeMap& AttributeMap::operator=(const AttributeMap& other) = default;
AttributeMap& AttributeMap::operator=(AttributeMap&& other) noexcept = default;
AttributeMap::~AttributeMap() = default;

AttributeMap::Entries::const_iterator AttributeMap::find(absl::string_view name) const {
  return entries_.find(std::string_view(name.data(), name.size()));
}

AttributeValue& AttributeMap::operator[](absl::string_view name) {
  return entries_[std::string(name)];
}

void AttributeMap::insert(const AttributeMap& other) {
  entries_.insert(other.begin(), other.end());
}

size_t AttributeMap::erase(absl::string_view name) { return entries_.erase(std::string(name)); }

absl::string_view KindName(const AttributeValue& value) {
  static constexpr std::array<absl::string_view, 10> kNames = {
      "int", "float", "string", "tensor", "graph", "type", "ints", "floats", "strings", "tensors"};
  return kNames[value.index()];
}

std::string ToString(const AttributeValue& value) { return std::visit(Printer(), value); }

}  // namespace attnrun
