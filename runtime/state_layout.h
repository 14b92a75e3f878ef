// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_STATE_LAYOUT_H_
#define ATTNRUN_RUNTIME_STATE_LAYOUT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "attnrun/data_type.h"
#include "attnrun/model_info.h"
#include "attnrun/state.h"
#include "graph/graph.h"
#include "model_fingerprint.h"

namespace attnrun {

// The values that the states of a session carry, and where they are among those of a run.
struct StateLayout {
  std::vector<StateValue> values;
  // By value: its element type, its position among the model's inputs, and among the outputs.
  std::vector<DataType> types;
  std::vector<int> inputs;
  std::vector<int> outputs;
  // The extent of its axis of positions as the model declares it; 0 if that is open.
  std::vector<int64_t> extents;
  // The positions of the outputs that are for the caller.
  std::vector<int> given;
  std::shared_ptr<const ModelFingerprint> model;
};

// `graph` may be optimized; `inputs` and `outputs` are as the model declares them.
StateLayout MakeStateLayout(const Graph& graph, const std::vector<ValueInfo>& inputs,
                            const std::vector<ValueInfo>& outputs);

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_STATE_LAYOUT_H_
