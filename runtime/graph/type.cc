// SPDX-License-Identifier: Apache-2.0
#include "graph/type.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace attnrun {
namespace {

std::string Shaped(DataType element, const std::optional<std::vector<Dim>>& shape) {
  std::string name(element == DataType::kUndefined ? "?" : Name(element));
  if (!shape.has_value()) return name;
  const auto append = [](std::string* out, const Dim& dim) { out->append(ToString(dim)); };
  return absl::StrCat(name, "[", absl::StrJoin(*shape, ",", append), "]");
}

}  // namespace

std::string ToString(const Dim& dim) {
  if (dim.is_fixed()) return absl::StrCat(dim.value);
  return dim.symbol.empty() ? "?" : dim.symbol;
}

absl::string_view Name(ValueKind kind) {
  switch (kind) {
    case ValueKind::kTensor:
      return "tensor";
    case ValueKind::kSequence:
      return "sequence";
    case ValueKind::kOptionalTensor:
      return "optional tensor";
    case ValueKind::kOptionalSequence:
      return "optional sequence";
  }
  return "";
}

std::string TypeAndShape(const ValueInfo& info) {
  std::string text = Shaped(info.type, info.shape);
  if (HoldsSequence(info.kind)) text = absl::StrCat("sequence(", text, ")");
  return IsOptional(info.kind) ? absl::StrCat("optional(", text, ")") : text;
}

std::string ToString(const Type& type) {
  if (!type.other.empty()) return type.other;
  return TypeAndShape(ValueInfo{"", type.element, type.shape, false, type.kind});
}

Type TypeOf(const Tensor& tensor) {
  Type type;
  type.element = tensor.type();
  type.shape.emplace();
  for (const int64_t extent : tensor.shape()) type.shape->push_back({extent, ""});
  return type;
}

}  // namespace attnrun
