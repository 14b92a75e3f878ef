// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GATHER_SCATTER_REDUCTION_H_
#define ATTNRUN_OPS_GATHER_SCATTER_REDUCTION_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op_context.h"

namespace attnrun::ops {

// How a scattering operator combines an element with its update.
enum class ScatterReduction { kNone, kAdd, kMul, kMax, kMin };

// Reads attribute `reduction` of ScatterElements and ScatterND, which exists from version 16 on,
// with max and min from version 18 on.
ScatterReduction ReadScatterReduction(AttributeReader& attributes);

// One update: y[target] = f(y[target], updates[update]).
struct Update {
  int64_t target;
  int64_t update;
};

// Sets output 0 to a copy of `data` with the updates applied in order: the reference of all
// scattering operators. Numbers are combined in double, int64 or complex<double> and rounded once;
// NaN wins. kInvalidArgument if the type has no such reduction.
absl::Status ApplyUpdates(OpContext& context, ScatterReduction reduction, const Tensor& data,
                          const Tensor& updates, const std::vector<Update>& list);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GATHER_SCATTER_REDUCTION_H_
