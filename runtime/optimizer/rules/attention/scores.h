// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORES_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORES_H_

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "optimizer/analysis/facts.h"
#include "optimizer/rules/attention/score_term.h"
#include "optimizer/rules/attention/sinks.h"

namespace attnrun::opt {

// A bias, added to the scores times `factor`. If `closed` is set, the operand is a bool mask, and
// the bias is 0 where it lets a key through and `closed` elsewhere.
struct ScoreBias {
  ScoreTerm operand;
  double factor = 1;
  std::optional<double> closed = {};
  bool negated = false;
};

// The scores of an attention as one product with all that happens to it before the Softmax:
//   where mask: softcap * tanh(scale * (A·B) / softcap) + max(biases, floor), else mask_value
// or, if biases come last:
//   (where mask: softcap * tanh(scale * (A·B) / softcap), else mask_value) + biases
struct Scores {
  // MatMul of A [..., S, H] and B [..., H, T]; or, if `swapped`, MatMul of K [..., T, H] and
  // Q^T [..., H, S] with a Transpose behind it.
  Node* matmul = nullptr;
  bool swapped = false;
  std::vector<SymInt> matmul_dims;
  // If not empty, the grid view that the scores have at the current step.
  std::vector<SymInt> grid;
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
  Value* q() const { return matmul->input(swapped ? 1 : 0); }
  Value* k() const { return matmul->input(swapped ? 0 : 1); }
  // All nodes from the Softmax's input up to and including the product.
  std::vector<Node*> nodes;
};

// Walks up from `value`, the input of a Softmax, to the product and describes the scores. If it
// finds no such product, `why` names the node that stands in the way.
std::optional<Scores> FindScores(Value* value, Facts& facts, std::string& why);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORES_H_
