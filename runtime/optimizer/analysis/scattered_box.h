// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_ANALYSIS_SCATTERED_BOX_H_
#define ATTNRUN_OPTIMIZER_ANALYSIS_SCATTERED_BOX_H_

#include <optional>
#include <vector>

#include "optimizer/analysis/facts.h"
#include "optimizer/analysis/view.h"

namespace attnrun::opt {

// The positions of a tensor to which a ScatterND writes its updates, in their order, if they are a
// box: successive positions of some axes, and all of the others. The axes of which it is a part
// come in their order; there are none if it is all of the tensor. nullopt for other scatters.
std::optional<std::vector<AxisPart>> ScatteredBox(const Node& scatter, Facts& facts);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_ANALYSIS_SCATTERED_BOX_H_
