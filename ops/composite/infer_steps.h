// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_COMPOSITE_INFER_STEPS_H_
#define ATTNRUN_OPS_COMPOSITE_INFER_STEPS_H_

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "ops/interface/infer_context.h"

namespace attnrun::ops {

// The facts about a value; nullopt if it is left out.
using OptionalFacts = std::optional<ValueFacts>;

// Infers the outputs of an operator that is described by others, step by step as ReferenceSteps
// runs them.
class InferSteps {
 public:
  explicit InferSteps(const InferContext& context) : context_(context) {}

  OptionalFacts Input(int i) const {
    return context_.has_input(i) ? OptionalFacts(context_.input(i)) : std::nullopt;
  }

  // The facts about the outputs of an operator; none if it does not take these inputs.
  static std::vector<ValueFacts> Ops(const std::string& op_type, int outputs,
                                     const std::vector<OptionalFacts>& inputs,
                                     AttributeMap attributes = {});
  static OptionalFacts Op(const std::string& op_type, const std::vector<OptionalFacts>& inputs,
                          AttributeMap attributes = {}) {
    return Ops(op_type, 1, inputs, std::move(attributes))[0];
  }

 private:
  const InferContext& context_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_COMPOSITE_INFER_STEPS_H_
