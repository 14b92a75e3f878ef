// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_STATE_INITIAL_SHAPES_H_
#define ATTNRUN_STATE_INITIAL_SHAPES_H_

#include <mutex>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/model_info.h"
#include "attnrun/shape.h"
#include "attnrun/state.h"
#include "graph/graph.h"
#include "input_fit/input_needs.h"

namespace attnrun::state {

// The needs of a graph, read when they are asked for first, since that looks at every node.
// Thread-safe. The graph must outlive it.
class LazyNeeds {
 public:
  explicit LazyNeeds(const Graph& graph) : graph_(graph) {}

  const fit::InputNeeds& Get() const;

 private:
  const Graph& graph_;
  mutable std::mutex mutex_;
  mutable std::optional<fit::InputNeeds> needs_;
};

// The shapes of the carried values before the first run, in order. Appended values and windows have
// no positions yet unless their extent is fixed. Extents that the model leaves open, as the head
// size of a cache, are those that its operators need. kInvalidArgument for negative options;
// kUnimplemented if the model does not state the rank of a value.
absl::StatusOr<std::vector<Shape>> InitialShapes(const LazyNeeds& needs,
                                                 const std::vector<ValueInfo>& inputs,
                                                 const std::vector<StateValue>& values,
                                                 const StateOptions& options);

}  // namespace attnrun::state

#endif  // ATTNRUN_STATE_INITIAL_SHAPES_H_
