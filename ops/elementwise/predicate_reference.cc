// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "core/elements.h"
#include "core/status.h"
#include "ops/elementwise/predicate.h"
#include "ops/interface/type_set.h"

namespace attnrun::ops {

absl::Status Predicate::Reference(OpContext& context) const {
  const bool is_not = function_ == PredicateFunction::kNot;
  ATTNRUN_RETURN_IF_ERROR(CheckType(context, 0, is_not ? kBools : kFloats | kFloat8s));
  const Tensor& x = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(x));
  std::vector<int64_t> result;
  for (const double value : values) {
    const bool infinite = std::isinf(value) && (value < 0 ? negative_ : positive_);
    result.push_back(is_not                                   ? value == 0
                     : function_ == PredicateFunction::kIsNaN ? std::isnan(value)
                                                              : infinite);
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y,
                           FromInts(DataType::kBool, x.shape(), result, context.allocator()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

}  // namespace attnrun::ops
