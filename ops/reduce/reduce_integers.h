// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_REDUCE_REDUCE_INTEGERS_H_
#define ATTNRUN_OPS_REDUCE_REDUCE_INTEGERS_H_

#include "attnrun/tensor.h"
#include "ops/reduce/reduce.h"
#include "ops/reduce/reduce_walk.h"

namespace attnrun::ops {

// True for Sum, Mean, Max, Min and Prod of int32 and int64.
bool ReducesIntegers(Reduction reduction, DataType type);

// y = the reduction of x along `walk`. Precondition: ReducesIntegers.
void ReduceIntegers(Reduction reduction, const ReduceWalk& walk, const Tensor& x, Tensor& y);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_REDUCE_REDUCE_INTEGERS_H_
