// SPDX-License-Identifier: Apache-2.0
#include "optimizer/analysis/elementwise.h"

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"

namespace attnrun::opt {

bool IsElementwise(const Node& node) {
  static const auto* const ops = new absl::flat_hash_set<absl::string_view>{
      "Abs",      "Add",         "And",       "Cast",
      "Ceil",     "Clip",        "Div",       "Elu",
      "Equal",    "Erf",         "Exp",       "Floor",
      "Gelu",     "Greater",     "HardSwish", "GreaterOrEqual",
      "Identity", "HardSigmoid", "LeakyRelu", "LessOrEqual",
      "Less",     "Log",         "Max",       "Min",
      "Mul",      "Neg",         "Not",       "Or",
      "Pow",      "Reciprocal",  "Relu",      "Round",
      "Sigmoid",  "Sign",        "Softplus",  "Softsign",
      "Sqrt",     "Sub",         "Sum",       "Swish",
      "Tanh",     "Where"};
  return node.domain().empty() && ops->contains(node.op_type());
}

}  // namespace attnrun::opt
