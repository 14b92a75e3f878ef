// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_COMPOSITE_REFERENCE_STEPS_H_
#define ATTNRUN_OPS_COMPOSITE_REFERENCE_STEPS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/tensor.h"
#include "graph/graph.h"
#include "ops/interface/optional_input.h"

namespace attnrun::ops {

// Runs an operator of the standard, or of "domain::Name" at version 1, on its reference code.
// Undefined inputs are left out.
absl::StatusOr<std::vector<Tensor>> RunStep(const std::string& op_type, int outputs,
                                            absl::Span<const Tensor> inputs,
                                            AttributeMap attributes, Allocator& allocator);

// Reference code for an operator that others describe, but in too many steps for a body (see Body),
// which keeps all values: runs them one after the other.
//
//   ReferenceSteps steps(context);
//   Tensor x = steps.Op("DequantizeLinear", {steps.Input(0), steps.Input(1), steps.Input(2)});
//   return steps.Give(steps.Op("Sigmoid", {x}));
class ReferenceSteps {
 public:
  explicit ReferenceSteps(OpContext& context) : context_(context) {}

  // Input i; undefined if it is left out.
  Tensor Input(int i) const { return InputOrUndefined(context_, i); }

  // The outputs of an operator of the standard, or of "domain::Name" at version 1. Undefined inputs
  // are left out. After an error, which Give returns, outputs are undefined.
  std::vector<Tensor> Ops(const std::string& op_type, int outputs,
                          const std::vector<Tensor>& inputs, AttributeMap attributes = {});
  Tensor Op(const std::string& op_type, const std::vector<Tensor>& inputs,
            AttributeMap attributes = {}) {
    return Ops(op_type, 1, inputs, std::move(attributes))[0];
  }
  Tensor Ints(const std::vector<int64_t>& values);
  Tensor Cast(const Tensor& tensor, DataType type) {
    return Op("Cast", {tensor}, {{"to", static_cast<int64_t>(type)}});
  }

  // Makes `tensor` output i unless there was an error.
  absl::Status Give(Tensor tensor, int i = 0);

 private:
  OpContext& context_;
  absl::Status status_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_COMPOSITE_REFERENCE_STEPS_H_
