// SPDX-License-Identifier: Apache-2.0
#include <re2/re2.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/quote.h"
#include "core/status.h"
#include "ops/elementwise/infer.h"
#include "ops/interface/type_set.h"
#include "ops/text/strings.h"

namespace attnrun::ops {

absl::Status RegexFullMatch::Reference(OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(CheckType(context, 0, kStrings));
  const RE2 pattern(pattern_, RE2::Quiet);
  if (!pattern.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected a pattern of RE2, but ", Quoted(pattern_), " is none: ", pattern.error()));
  }
  const Tensor& x = context.input(0);
  std::vector<int64_t> matches;
  matches.reserve(x.num_elements());
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    matches.push_back(RE2::FullMatch(x.data<std::string>()[i], pattern) ? 1 : 0);
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y,
                           FromInts(DataType::kBool, x.shape(), matches, context.allocator()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

void RegexFullMatch::Infer(InferContext& context) const {
  InferSameShape(context, DataType::kBool);
}

}  // namespace attnrun::ops
