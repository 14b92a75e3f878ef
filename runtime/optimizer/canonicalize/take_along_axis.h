#ifndef ATTNRUN_OPTIMIZER_CANONICALIZE_TAKE_ALONG_AXIS_H_
#define ATTNRUN_OPTIMIZER_CANONICALIZE_TAKE_ALONG_AXIS_H_

#include "optimizer/pass.h"

namespace attnrun {

// Indices are not repeated for all samples and heads, as DeBERTa's positions are:
//
//   i [1, S, T] -> Expand -> [N, S, T]
//   GatherElements(x [N, S, P], [N, S, T]) {axis = 2}   ->   TakeAlongAxis(x, i)
absl::StatusOr<int> TakeAlongAxes(PassContext& context);

}  // namespace attnrun

#endif  // ATTNRUN_OPTIMIZER_CANONICALIZE_TAKE_ALONG_AXIS_H_
