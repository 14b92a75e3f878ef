// SPDX-License-Identifier: Apache-2.0
#include "ops/interface/type_set.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace attnrun::ops {

std::string TypeSet::ToString() const {
  std::vector<absl::string_view> names;
  for (int32_t i = 1; IsValid(static_cast<DataType>(i)); ++i) {
    if (Contains(static_cast<DataType>(i))) names.push_back(Name(static_cast<DataType>(i)));
  }
  return absl::StrJoin(names, ", ");
}

absl::Status CheckType(const OpContext& context, int i, TypeSet allowed) {
  if (allowed.Contains(context.input(i).type())) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("input ", i, " must be one of ",
                                                 allowed.ToString(), ", but is ",
                                                 TypeAndShape(context.input(i))));
}

absl::Status CheckSameType(const OpContext& context, int i, int j) {
  if (context.input(i).type() == context.input(j).type()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("inputs ", i, " and ", j, " must be of one type, but are ",
                   TypeAndShape(context.input(i)), " and ", TypeAndShape(context.input(j))));
}

}  // namespace attnrun::ops
