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

// kInvalidArgument, listing the names that there are, if a name of `given` is none of them; `kind`
// is "input" or "output".
absl::Status CheckNames(absl::string_view kind, const std::vector<ValueInfo>& declared,
                        const TensorMap& given);

// kUnimplemented if an input or output of the graph is no tensor.
absl::Status CheckTensorsOnly(const Graph& graph);

// The tensors a run was given, in the order of `declared` and dense, undefined where a default
// applies. kInvalidArgument for what Session::Run lists.
absl::StatusOr<std::vector<Tensor>> BindInputs(const std::vector<ValueInfo>& declared,
                                               const TensorMap& given);

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_INPUTS_H_
