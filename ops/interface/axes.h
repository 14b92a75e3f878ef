// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_INTERFACE_AXES_H_
#define ATTNRUN_OPS_INTERFACE_AXES_H_

#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"

namespace attnrun::ops {

// Axes of a node's inputs and outputs that go together: the outputs at one position are computed
// from the inputs at that position, and positions do not see each other. So an operator commutes
// with any choice of positions, in another order or repeated: if all inputs that have the axis are
// gathered by one list of positions, all outputs that have it come out gathered by that list, and
// all other outputs stay as they are, to the bit.
//
//   MatMul of A [B,M,K] and B [1,K,N] to Y [B,M,N] has the tracks
//     B: inputs {0, kNone}, ones {kNone, 0}, outputs {0}
//     M: inputs {1, kNone}, ones {kNone, kNone}, outputs {1}
//     N: inputs {kNone, 2}, ones {kNone, kNone}, outputs {2}
//   and none of K, over which it sums.
struct AxisTrack {
  static constexpr int kNone = -1;

  // For each input its axis; kNone for one that is left out or the same at all positions.
  absl::InlinedVector<int, 4> inputs;
  // For each input the axis of extent 1 in the place of this axis, along which it is broadcast;
  // kNone for one that has the axis, or no axis in its place.
  absl::InlinedVector<int, 4> ones;
  // For each output its axis; kNone for one that is left out or does not depend on the inputs that
  // have the axis.
  absl::InlinedVector<int, 2> outputs;

  friend bool operator==(const AxisTrack& a, const AxisTrack& b) {
    return a.inputs == b.inputs && a.ones == b.ones && a.outputs == b.outputs;
  }
  // "0.1 1.0 > 0.2" is axis 1 of input 0, axis 0 of input 1 and axis 2 of output 0; an axis of
  // extent 1 is written "1.0=1".
  std::string ToString() const;
};

// All tracks of a node. An axis is in at most one of them, among `inputs` or `ones`; positions
// along an axis that is in none may depend on each other. No tracks: nothing is known.
struct AxisRule {
  std::vector<AxisTrack> tracks;
  // Tracks of other axes, along which positions do not see each other either, but count: the
  // outputs at a position depend on its number, too. An example is the axis of queries of a causal
  // attention. The operator does not commute with a choice of such positions.
  std::vector<AxisTrack> placed;

  // The track of an axis; null if it is in none.
  const AxisTrack* OfInput(int input, int axis) const;
  const AxisTrack* OfOutput(int output, int axis) const;
  // The same among `placed`.
  const AxisTrack* PlacedOfOutput(int output, int axis) const;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_INTERFACE_AXES_H_
