// SPDX-License-Identifier: Apache-2.0
#include "graph/type.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace attnrun {
namespace {

std::string Shaped(DataType element, const std::optional<std::vector<Dim>>& shape) {
  const std::string name(element == DataType::kUndefined ? "?" : Name(element));
  if (!shape.has_value()) return name;
  const auto append = [](std::string* out, const Dim& dim) { out->append(ToString(dim)); };
  return absl::StrCat(name, "[", absl::StrJoin(*shape, ",", append), "]");
}

}  // namespace

std::string ToString(const Dim& dim) {
  if (dim.is_fixed()) return absl::StrCat(dim.value);
  return dim.symbol.empty() ? "?" : dim.symbol;
}

std::string TypeAndShape(const ValueInfo& info) { return Shaped(info.type, info.shape); }

std::string ToString(const Type& type) {
  return type.other.empty() ? Shaped(type.element, type.shape) : type.other;
}

Type TypeOf(const Tensor& tensor) {
  Type type;
  type.element = tensor.type();
  type.shape.emplace();
  for (const int64_t extent : tensor.shape()) type.shape->push_back({extent, ""});
  return type;
}

}  // namespace attnrun
