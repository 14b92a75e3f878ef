// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_EXECUTION_ROUNDED_VALUES_H_
#define ATTNRUN_EXECUTION_ROUNDED_VALUES_H_

#include "absl/types/span.h"
#include "execution/plan.h"

namespace attnrun::exec {

// Marks the steps whose output may be stored as bf16, and their readers: a kernel can store it so,
// and every reader rounds it before it does anything else. Half the bytes are written and read, and
// no result changes a bit. `steps` are all steps of a plan, `kept` the slots that others read:
// outputs of the graph.
void MarkRoundedValues(absl::Span<Step> steps, absl::Span<const int> kept);

}  // namespace attnrun::exec

#endif  // ATTNRUN_EXECUTION_ROUNDED_VALUES_H_
