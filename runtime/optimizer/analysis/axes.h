// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_ANALYSIS_AXES_H_
#define ATTNRUN_OPTIMIZER_ANALYSIS_AXES_H_

#include <vector>

#include "absl/types/span.h"
#include "ops/interface/axes.h"
#include "optimizer/analysis/facts.h"

namespace attnrun::opt {

// The axes of a node's inputs and outputs that correspond to each other, from what is known of
// them.
ops::AxisRule AxesOf(const Node& node, Facts& facts);

// True if the node's outputs have as many positions along the track as its inputs, whatever their
// number, so that it can compute fewer or more of them. A Reshape to given extents does not.
bool FollowsInputs(const Node& node, const ops::AxisTrack& track, Facts& facts);

// The facts about the outputs that a node of this operator and these attributes would have with
// other inputs: `inputs` has the facts about each input, null where one is left out.
std::vector<ops::ValueFacts> InferFrom(const Node& node,
                                       absl::Span<const ops::ValueFacts* const> inputs);

// The tracks of a node of this operator and these attributes with other inputs. A rewrite that
// wants to transpose the inputs of a node asks this first. The outputs are then transposed in the
// same way if every axis that moves belongs to a track, and if the tracks found with the transposed
// inputs are the node's own, transposed.
ops::AxisRule AxesOf(const Node& node, absl::Span<const ops::ValueFacts* const> inputs);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_ANALYSIS_AXES_H_
