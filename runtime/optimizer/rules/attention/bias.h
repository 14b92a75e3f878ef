// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_BIAS_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_BIAS_H_

#include "optimizer/rewrite/patch.h"
#include "optimizer/rules/attention/heads.h"
#include "optimizer/rules/attention/scores.h"

namespace attnrun::opt {

// Extents that are not numbers are read off `like`, values whose axes have them.

// The sum of all biases, or null if there are none; the conjunction of all masks; the sinks. `ok`
// becomes false if one cannot be written.
Value* SumOfBiases(Patch& patch, Facts& facts, const Scores& scores, const HeadAxes& axes,
                   absl::Span<Value* const> like, bool& ok);
Value* AllMasks(Patch& patch, Facts& facts, const Scores& scores, const HeadAxes& axes,
                absl::Span<Value* const> like, bool& ok);
Value* SinksOf(Patch& patch, Facts& facts, const Scores& scores, const HeadAxes& axes,
               absl::Span<Value* const> like, bool& ok);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_BIAS_H_
