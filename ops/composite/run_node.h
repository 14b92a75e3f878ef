// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_COMPOSITE_RUN_NODE_H_
#define ATTNRUN_OPS_COMPOSITE_RUN_NODE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/tensor.h"
#include "graph/graph.h"

namespace attnrun::ops {

// The outputs of a node without subgraphs, dense, as its operator's reference code computes them
// from `inputs`, dense ones, undefined where the node leaves one out. What the code throws is
// kInternal.
absl::StatusOr<std::vector<Tensor>> RunReference(const Node& node, absl::Span<const Tensor> inputs,
                                                 Allocator& allocator);

// The same, as its kernel computes them where it has one that accepts them.
absl::StatusOr<std::vector<Tensor>> RunKernel(const Node& node, absl::Span<const Tensor> inputs,
                                              Allocator& allocator);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_COMPOSITE_RUN_NODE_H_
