// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_COMPOSITE_RUN_NODE_H_
#define ATTNRUN_OPS_COMPOSITE_RUN_NODE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/tensor.h"
#include "graph/graph.h"

namespace attnrun::ops {

// Runs a node without subgraphs on its operator's reference code and returns its outputs, dense.
// `inputs`: dense, undefined where the node leaves one out. An exception from the code becomes
// kInternal.
absl::StatusOr<std::vector<Tensor>> RunReference(const Node& node, absl::Span<const Tensor> inputs,
                                                 Allocator& allocator);

// As RunReference, but on the operator's kernel if it has one that accepts the inputs.
absl::StatusOr<std::vector<Tensor>> RunKernel(const Node& node, absl::Span<const Tensor> inputs,
                                              Allocator& allocator);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_COMPOSITE_RUN_NODE_H_
