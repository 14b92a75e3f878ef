// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_INTERFACE_KINDS_H_
#define ATTNRUN_OPS_INTERFACE_KINDS_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "attnrun/model_info.h"

namespace attnrun {
class Node;
}  // namespace attnrun

namespace attnrun::ops {

// The kinds of the inputs and outputs of a node.
struct KindContext {
  const Node& node;
  // kTensor for an input that is left out.
  absl::Span<const ValueKind> inputs;
  // Gives the kinds of the outputs of the graph that `attribute` holds, on inputs of these kinds.
  absl::FunctionRef<absl::StatusOr<std::vector<ValueKind>>(absl::string_view attribute,
                                                           absl::Span<const ValueKind> inputs)>
      body;
  // kTensor at first.
  absl::Span<ValueKind> outputs;
};

// Sets the kinds of the outputs. kInvalidArgument, without the name of the node, if the operator
// does not take inputs of these kinds.
using KindRule = absl::Status (*)(KindContext&);

// kInvalidArgument unless input i is of this kind.
absl::Status CheckKind(const KindContext& context, size_t i, ValueKind expected);

// The kind of a value that is of one of two kinds: a tensor is an optional tensor with an element.
// kInvalidArgument if there is none.
absl::StatusOr<ValueKind> CommonKind(ValueKind a, ValueKind b);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_INTERFACE_KINDS_H_
