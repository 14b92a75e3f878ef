// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_HEAD_AXES_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_HEAD_AXES_H_

#include <optional>

#include "optimizer/analysis/facts.h"
#include "optimizer/analysis/view.h"
#include "optimizer/rules/attention/probabilities.h"
#include "optimizer/rules/attention/scores.h"

namespace attnrun::opt {

// Which axes of a product of scores are samples, heads, queries and keys.
struct HeadAxes {
  // The elements of the product as [B, N, S, T]. Heads that share a head of K are neighbours.
  View view;
  SymInt batch;
  SymInt heads;
};

// Finds the axes of the scores' product. Samples and heads are told apart by strides: the view by
// which Q was split from rows of channels steps over fewer elements from head to head than from
// position to position. An axis that holds several of them is split as the Softmax or the product
// with V has them. nullopt if it cannot be split so.
std::optional<HeadAxes> FindHeadAxes(const Scores& scores, const Probabilities& probabilities,
                                     Facts& facts);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_HEAD_AXES_H_
