// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_INPUT_FIT_MASK_USE_H_
#define ATTNRUN_INPUT_FIT_MASK_USE_H_

#include "graph/graph.h"

namespace attnrun::fit {

// True if something is masked where the input's elements are true (other than 0): where they choose
// or are multiplied by a number far below 0. Exporters write padding masks of both senses.
bool MasksWhereTrue(const Value* input);

}  // namespace attnrun::fit

#endif  // ATTNRUN_INPUT_FIT_MASK_USE_H_
