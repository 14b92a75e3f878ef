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

// Added to the scores, times `factor`; if `closed` is set, what is added is 0 where the operand,
// bool, is open and `closed` elsewhere.
struct ScoreBias {
  ScoreTerm operand;
  double factor = 1;
  std::optional<double> closed = {};
  bool negated = false;
};

// Scores as one product with all that is done to it before the Softmax:
//   where mask: softcap * tanh(scale * (A·B) / softcap) + max(biases, floor), else mask_value
// or, if biases come last:
//   (where mask: softcap * tanh(scale * (A·B) / softcap), else mask_value) + biases
struct Scores {
  // MatMul of A [..., S, H] and B [..., H, T], or of K [..., T, H] and Q^T [..., H, S] if
  // `swapped`: a Transpose stands behind it.
  Node* matmul = nullptr;
  bool swapped = false;
  std::vector<SymInt> matmul_dims;
  // If not empty, the scores are such a view at present.
  std::vector<SymInt> picture;
  double scale = 1;
  // 0: none.
  double softcap = 0;
  std::vector<ScoreBias> biases;
  // The sum of the first `floored` biases is raised to `floor` at least.
  size_t floored = 0;
  double floor = -std::numeric_limits<double>::infinity();
  // A row may be shifted by any number, which its Softmax does not notice; masks must be infinite.
  bool shifted = false;
  // All must be true; true where `negated` is false.
  struct Mask {
    ScoreTerm operand;
    bool negated = false;
    // It is no bool but a number, 1 or 0.
    bool is_number = false;
  };
  std::vector<Mask> masks;
  bool biases_last = false;
  double mask_value = -std::numeric_limits<double>::infinity();
  // The sinks that the Softmax has beside the scores.
  std::optional<Sinks> sinks;
  Value* q() const { return matmul->input(swapped ? 1 : 0); }
  Value* k() const { return matmul->input(swapped ? 0 : 1); }
  // From the value asked for down to the product, that included.
  std::vector<Node*> nodes;
};

// The scores that `value`, what a Softmax reads, is made of. If there are none, `why` says, by node
// name, what stands in their way.
std::optional<Scores> FindScores(Value* value, Facts& facts, std::string& why);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORES_H_
