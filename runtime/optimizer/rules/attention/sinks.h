// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_SINKS_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_SINKS_H_

#include <optional>
#include <vector>

#include "optimizer/rewrite/patch.h"
#include "optimizer/rules/attention/scores.h"

// Attention sinks: one more score for each query, which takes its share of the softmax and is then
// dropped, so that the probabilities of the keys add up to less than 1.
//
//   scores [.., S, T]   sinks [.., S, 1]
//          \               /
//         Concat, or Pad with one number
//                |
//             Softmax [.., S, T + 1]
//                |
//              Slice, or Split
//                |
//         probabilities [.., S, T]
namespace attnrun::opt {

// Splits the input of a Softmax into scores and sinks; nullopt if it has no sinks.
std::optional<Sinks> FindSinks(Value* value, Facts& facts);

// The probabilities without the column of the sinks, if a node cuts it off; else null. Appends the
// nodes on the way.
Value* WithoutSinks(Value* probabilities, const Sinks& sinks, Facts& facts,
                    std::vector<Node*>& nodes);

// The softmax of `scores` and `sinks` [.., S, 1], or one number if that is null, without the column
// of the sinks. Null if the extents of the scores are not known.
Value* SoftmaxBeside(Patch& patch, Facts& facts, Value* scores, Value* sinks, double number,
                     absl::string_view name);

// True if no row of the scores can be all -inf, which has NaN as its softmax, but 0 beside a sink.
// Else reports a near miss at `anchor`.
bool HaveFiniteRows(Value* scores, RuleContext& context, const Node& anchor);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_SINKS_H_
