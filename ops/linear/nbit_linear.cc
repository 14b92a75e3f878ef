// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/nbit_linear.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/div_ceil.h"
#include "core/status.h"
#include "ops/interface/optional_input.h"
#include "ops/linear/activate.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

constexpr int kInputsPerWeight = 3;

// The number of columns of codes [N, blocks, bytes].
int64_t ColumnsOf(const Tensor& codes) { return codes.rank() == 0 ? 0 : codes.dim(0); }

}  // namespace

NBitLinear::NBitLinear(AttributeReader& attributes)
    : k_(attributes.Required<int64_t>("K")),
      bits_(attributes.Int("bits", 4)),
      block_size_(attributes.Required<int64_t>("block_size")),
      activation_(ReadActivation(attributes)) {}

int NBitLinear::NumWeights(size_t inputs) {
  const auto more = std::max(static_cast<int>(inputs) - kMoreWeights, 0);
  return 1 + DivCeil(more, kInputsPerWeight);
}

NBitLinear::WeightInputs NBitLinear::InputsOf(int weight) {
  if (weight == 0) return {kCodes, kScales, kZeroPoints};
  const int first = kMoreWeights + (weight - 1) * kInputsPerWeight;
  return {first, first + 1, first + 2};
}

std::vector<NBitWeight> NBitLinear::Weights(size_t inputs,
                                            absl::FunctionRef<Tensor(int)> input) const {
  std::vector<NBitWeight> weights;
  const auto read = [&](int i) { return i < static_cast<int>(inputs) ? input(i) : Tensor(); };
  for (int i = 0; i < NumWeights(inputs); ++i) {
    const auto [codes, scales, zero_points] = InputsOf(i);
    const Tensor of_codes = read(codes);
    weights.push_back(
        {k_, ColumnsOf(of_codes), bits_, block_size_, of_codes, read(scales), read(zero_points)});
  }
  return weights;
}

absl::StatusOr<LinearShape> NBitLinear::ResolveOutput(const OpContext& context,
                                                      int64_t columns) const {
  for (const int i : {kX, kBias, kResidual}) {
    if (i != kX && !context.has_input(i)) continue;
    if (context.has_input(i) && IsFloatOrHalf(context.input(i).type())) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("expected input ", i, " to be floats, but it is ",
                     context.has_input(i) ? TypeAndShape(context.input(i)) : "left out"));
  }
  const Tensor& x = context.input(kX);
  if (x.rank() == 0 || x.shape().back() != k_) {
    return ExpectedShape("X to be floats with rows of shape ", {k_}, x);
  }
  LinearShape shape = {.m = 0, .k = k_, .n = columns, .output = {}};
  ATTNRUN_RETURN_IF_ERROR(ResolveRows(context, shape));
  return shape;
}

absl::StatusOr<LinearShape> NBitLinear::Resolve(const OpContext& context) const {
  const std::vector<NBitWeight> weights =
      Weights(context.num_inputs(), [&](int i) { return InputOrUndefined(context, i); });
  int64_t columns = 0;
  for (const NBitWeight& weight : weights) {
    ATTNRUN_RETURN_IF_ERROR(weight.Check());
    columns += weight.n;
  }
  return ResolveOutput(context, columns);
}

void NBitLinear::Infer(InferContext& context) const {
  ValueFacts y;
  y.type = context.input(kX).type;
  y.dims = context.input(kX).dims;
  if (y.dims.has_value() && !y.dims->empty()) {
    SymInt columns(0);
    for (int i = 0; i < NumWeights(context.num_inputs()); ++i) {
      const auto& codes = context.input(InputsOf(i).codes).dims;
      const bool known = codes.has_value() && !codes->empty();
      columns = known ? columns + codes->front() : SymInt::Unknown();
    }
    y.dims->back() = columns;
  }
  context.SetOutput(0, std::move(y));
}

}  // namespace attnrun::ops
