// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_STATE_TRAIL_H_
#define ATTNRUN_STATE_TRAIL_H_

#include <vector>

#include "graph/graph.h"

namespace attnrun::state {

// A way from a graph's output back to one of its inputs, along operators that keep elements of
// their input: they append to it, overwrite a part of it, cut it or rearrange it.
struct Trail {
  const Value* input = nullptr;
  bool appends = false;
  bool cuts = false;
  bool overwrites = false;
  // An index takes a part of the input, such as the keys out of keys and values in one tensor.
  bool is_part = false;
  // The operator that appends knows the length of its input, which may be longer.
  bool has_length = false;
  // The positions that are left behind an operator that appends; 0 if they are not known.
  int64_t window = 0;
  // The axis of the input along which an operator appends, overwrites or cuts; -1 if unknown.
  int axis = -1;
};

// The trails of an output, one per input. They also lead through the branches of If.
std::vector<Trail> TrailsOf(const Value* output);

}  // namespace attnrun::state

#endif  // ATTNRUN_STATE_TRAIL_H_
