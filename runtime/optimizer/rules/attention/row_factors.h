// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_ROW_FACTORS_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_ROW_FACTORS_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/context.h"

namespace attnrun::opt {

// True if every reader of the value leads to a Softmax through operators that the attention rule
// accepts.
bool LeadsToSoftmax(const Value& scores);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_ROW_FACTORS_H_
