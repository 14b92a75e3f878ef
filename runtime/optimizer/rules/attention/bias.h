// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_BIAS_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_BIAS_H_

#include "optimizer/rewrite/patch.h"
#include "optimizer/rules/attention/head_axes.h"
#include "optimizer/rules/attention/scores.h"

namespace attnrun::opt {

// The operands of attnrun.Attention that the scores' biases, masks and sinks become: the sum of all
// biases, the conjunction of all masks, and the sinks, each null if there are none. `ok` becomes
// false if one cannot be written. Extents that are not numbers are read off `like`, values whose
// axes have them.
Value* SumOfBiases(Patch& patch, const Scores& scores, const HeadAxes& axes,
                   absl::Span<Value* const> like, bool& ok);
Value* AllMasks(Patch& patch, const Scores& scores, const HeadAxes& axes,
                absl::Span<Value* const> like, bool& ok);
Value* SinksOf(Patch& patch, const Scores& scores, const HeadAxes& axes,
               absl::Span<Value* const> like, bool& ok);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_BIAS_H_
