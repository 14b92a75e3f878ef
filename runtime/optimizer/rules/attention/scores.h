// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORES_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORES_H_

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "optimizer/analysis/facts.h"
#include "optimizer/analysis/view.h"

namespace attnrun::opt {

// An operand that broadcasts to the scores at the step where it enters: `scores` are the elements
// of the product as they lie there.
struct ScoreTerm {
  Value* value = nullptr;
  View scores = {};
};

// One more score for each query (sinks.h).
struct Sinks {
  // The scores that the sinks are concatenated with.
  Value* scores = nullptr;
  // The sinks, [.., S, 1]; no value if all are `number`.
  ScoreTerm operand = {};
  double number = 0;
  // True if they are the first column, not the last.
  bool first = false;
  // The nodes from the Softmax's input up to the one that adds the column.
  std::vector<Node*> nodes;
};

// A bias, added to the scores times `factor`. If `mask_value` is set, the operand is a bool mask,
// and the bias is 0 where it lets a key through and `mask_value` elsewhere.
struct ScoreBias {
  ScoreTerm operand;
  double factor = 1;
  std::optional<double> mask_value = {};
  bool negated = false;
};

// The scores of an attention as one product with all that happens to it before the Softmax:
//   where mask: softcap * tanh(scale * (A·B) / softcap) + max(biases, floor), else mask_value
// or, if biases come last:
//   (where mask: softcap * tanh(scale * (A·B) / softcap), else mask_value) + biases
struct Scores {
  // MatMul of Q [..., S, H] and K^T [..., H, T]; or of K and Q^T, if the keys are its rows.
  Node* matmul = nullptr;
  std::vector<SymInt> matmul_dims;
  // The elements of the product where they lie at the current step, and in the end where the
  // Softmax reads them: views may have put its axes in another order, joined or split them.
  View view;
  // The axis of the product over which the Softmax runs: its last one, or the one before.
  int keys_axis = 0;
  double scale = 1;
  // 0 if there is no softcap.
  double softcap = 0;
  std::vector<ScoreBias> biases;
  // The sum of the first `floored` biases is raised to `floor` where it is lower.
  size_t floored = 0;
  double floor = -std::numeric_limits<double>::infinity();
  // Each row may be shifted by a number, which the Softmax cancels. Masks must then absorb any
  // score.
  bool shifted = false;
  // The axis of the row, as it lies in the product.
  ViewAxis row;
  // A mask. A key is masked where the operand is false, or true if `negated`; all masks apply.
  struct Mask {
    ScoreTerm operand;
    bool negated = false;
    // True if the operand is no bool but a number, 1 or 0.
    bool is_number = false;
  };
  std::vector<Mask> masks;
  bool biases_last = false;
  double mask_value = -std::numeric_limits<double>::infinity();
  // The sinks that the Softmax has beside the scores.
  std::optional<Sinks> sinks;
  int queries_axis() const { return 2 * static_cast<int>(matmul_dims.size()) - 3 - keys_axis; }
  bool keys_are_rows() const { return keys_axis < queries_axis(); }
  Value* q() const { return matmul->input(keys_are_rows() ? 1 : 0); }
  Value* k() const { return matmul->input(keys_are_rows() ? 0 : 1); }
  // All nodes from the Softmax's input up to and including the product.
  std::vector<Node*> nodes;
};

// Walks up from `value`, the input of a Softmax over `axis`, to the product and describes the
// scores. If it finds no such product, `why` names the node that stands in the way.
std::optional<Scores> FindScores(Value* value, int axis, Facts& facts, std::string& why);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORES_H_
