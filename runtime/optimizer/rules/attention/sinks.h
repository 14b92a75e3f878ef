// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_SINKS_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_SINKS_H_

#include <optional>
#include <vector>

#include "optimizer/analysis/facts.h"
#include "optimizer/rules/attention/score_term.h"

// Attention sinks: one more score for each query, which takes its share of the softmax and is then
// dropped.
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

struct Sinks {
  // The scores that the sinks are concatenated with.
  Value* scores = nullptr;
  // [.., S, 1], or nothing if all are `number`.
  ScoreTerm operand = {};
  double number = 0;
  // True if they are the first column, not the last.
  bool first = false;
  // From the Softmax's input to what puts them there.
  std::vector<Node*> nodes;
};

// Splits the input of a Softmax into scores and sinks; nullopt if it has no sinks.
std::optional<Sinks> FindSinks(Value* value, Facts& facts);

// The columns of the scores, cut out of probabilities that have the sinks', too; null if nobody
// does that. Appends the nodes on the way.
Value* WithoutSinks(Value* probabilities, const Sinks& sinks, Facts& facts,
                    std::vector<Node*>& nodes);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_SINKS_H_
