// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_SHARED_SCORES_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_SHARED_SCORES_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "graph/graph.h"
#include "optimizer/rules/attention/scores.h"

// Several softmaxes may read one product of scores, each as an attention of its own: LightGlue
// attends from one image to the other and back.
//
//        MatMul                             MatMul             MatMul
//       /      \                              |                  |
//   Softmax  Transpose, Softmax    ->      Softmax       Transpose, Softmax
//      |          |                           |                  |
//   MatMul      MatMul                     MatMul             MatMul
//
// After fusion each attention computes the same scores for itself. This costs one product more, S T
// H multiply-adds beside S T (2 Hv + H), and saves writing, transposing and reading the S T scores
// and probabilities. With heads of 64 channels (one core, AVX-512) both ways take 0.38 ms at S = T
// = 128 and 1.44 ms at 256; beyond the caches, at 512 and 1,024, the fused one takes half as long;
// at 32 and below it takes 10 us longer.
namespace attnrun::opt {

// The nodes of `scores` that can be removed once `rest`, the Softmax and all that follows it, is
// fused. Nodes with other readers stay if all of these readers lead to a Softmax for which
// `is_attention` holds; otherwise all nodes are returned.
std::vector<Node*> ScoresToRemove(const Graph& graph, const Scores& scores,
                                  const std::vector<Node*>& rest,
                                  absl::FunctionRef<bool(Node* softmax)> is_attention);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_SHARED_SCORES_H_
