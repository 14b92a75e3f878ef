// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_INPUTS_H_
#define ATTNRUN_RUNTIME_INPUTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attnrun/model_info.h"
#include "attnrun/tensor.h"
#include "graph/graph.h"

namespace attnrun {

std::vector<ValueInfo> DescribeInputs(const Graph& graph);
std::vector<ValueInfo> DescribeOutputs(const Graph& graph);

// kInvalidArgument if `given` has a name that is not declared; the message lists the declared
// names. `kind` is "input" or "output".
absl::Status CheckNames(absl::string_view kind, const std::vector<ValueInfo>& declared,
                        const TensorMap& given);

// The tensors of `given` and `carried` in the order of `declared`; those of `given` dense, those of
// `carried`, which come from a state, as they are. Undefined where a default applies or an optional
// has no element.
// Errors: the kInvalidArgument cases of Session::Run. `equalities` are those of the graph.
absl::StatusOr<std::vector<Tensor>> BindInputs(const std::vector<ValueInfo>& declared,
                                               const Equalities& equalities, const TensorMap& given,
                                               const TensorMap& carried = {});

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_INPUTS_H_
