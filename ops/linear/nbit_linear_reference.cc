// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "core/elements.h"
#include "core/status.h"
#include "ops/interface/optional_input.h"
#include "ops/linear/nbit_linear.h"

namespace attnrun::ops {

// Runs Linear on the dequantized weights.
absl::Status NBitLinear::Reference(OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(Resolve(context).status());
  const std::vector<NBitWeight> weights =
      Weights(context.num_inputs(), [&](int i) { return InputOrUndefined(context, i); });
  std::vector<Tensor> inputs(Linear::kMoreWeights);
  for (const int i : {kX, kBias, kResidual}) {
    if (context.has_input(i)) inputs[i] = context.input(i);
  }
  inputs.resize(Linear::kMoreWeights + weights.size() - 1);
  for (size_t i = 0; i < weights.size(); ++i) {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> columns, weights[i].Columns());
    ATTNRUN_ASSIGN_OR_RETURN(inputs[Linear::WeightInput(static_cast<int>(i))],
                             FromDoubles(DataType::kDouble, {weights[i].n, k_}, columns));
  }
  Tensor output[1];
  OpContext product(inputs, absl::MakeSpan(output), context.allocator());
  ATTNRUN_RETURN_IF_ERROR(
      Linear(std::vector<int64_t>(weights.size(), 1), activation_).Reference(product));
  context.SetOutput(0, std::move(output[0]));
  return absl::OkStatus();
}

}  // namespace attnrun::ops
