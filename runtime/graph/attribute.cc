// SPDX-License-Identifier: Apache-2.0
#include "graph/attribute.h"

#include <array>

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

absl::string_view KindName(const AttributeValue& value) {
  static constexpr std::array<absl::string_view, 10> kNames = {
      "int", "float", "string", "tensor", "graph", "type", "ints", "floats", "strings", "tensors"};
  return kNames[value.index()];
}

std::string ToString(const AttributeValue& value) { return std::visit(Printer(), value); }

}  // namespace attnrun
