// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_LAST_POSITIONS_H_
#define ATTNRUN_RUNTIME_LAST_POSITIONS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "attnrun/tensor.h"
#include "graph/graph.h"

namespace attnrun {

// Cuts graph outputs to their last positions along axis 1, as SessionOptions::last_positions_of
// says: adds the input kLastPositions and a Slice behind each output. kInvalidArgument for a name
// that is no output, an output that is no tensor of at least two axes, and a graph that has such an
// input.
absl::Status CutToLastPositions(const std::vector<std::string>& outputs, Graph& graph);

// kInvalidArgument if the input kLastPositions, int64[1] or undefined, holds a negative number.
absl::Status CheckLastPositions(const Tensor& input);

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_LAST_POSITIONS_H_
