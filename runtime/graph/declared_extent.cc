// SPDX-License-Identifier: Apache-2.0
#include "graph/declared_extent.h"

#include "absl/strings/str_cat.h"

namespace attnrun {

std::string AxisName(absl::string_view input, const Dim& dim, size_t axis) {
  return dim.symbol.empty() ? absl::StrCat(input, "[", axis, "]") : dim.symbol;
}

SymInt DeclaredExtent(absl::string_view input, const Dim& dim, size_t axis) {
  if (dim.is_fixed()) return dim.value;
  return SymInt::Symbol(AxisName(input, dim, axis));
}

}  // namespace attnrun
