// SPDX-License-Identifier: Apache-2.0

// JAX and AllenNLP mask probabilities, not scores, and divide by what is left. It becomes a mask of
// the scores, as other exporters write it:
//
//     s                                  m   s   -inf
//     |                                   \  |  /
//  Softmax   m                             Where
//      \     |                               |
//       \  Cast             ->            Softmax
//        \  /                                |
//         Mul ------.                m   p   0
//          |    ReduceSum             \  |  /
//          |        |                  Where
//          |    Add(1e-13)               |
//           \      /                     y
//             Div -> y
//
// The Where behind the Softmax is left out where a row without a key gives NaN. Where a Where tells
// sums above 0 from others and gives 0 for them, also for NaN, one with IsNaN takes its place.
//
// Where the keys that the mask leaves have none of the weight in float32, beside one that it
// hides, the written form gives 0 or NaN. So scores that another mask may have lowered stay as
// they are. Those of masked keys are taken to be finite, as in all of attention. The number that
// keeps the sum off 0 is left out: beside the 1e-8 of the weight that keys have whose scores lie 18
// below that of a masked key, 1e-12 changes the fourth digit.

#include <limits>
#include <optional>
#include <vector>

#include "core/elements.h"
#include "optimizer/analysis/reduction.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/pattern.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/attention/score_steps.h"

namespace attnrun::opt {
namespace {

// The result of the division for a row in which all keys are masked.
enum class EmptyRow { kNan, kZero, kZeroAlsoForNan };

class MaskedSoftmax {
 public:
  MaskedSoftmax(RuleContext& context, Node* node) : facts_(context.facts), node_(node) {}

  bool Propose(Patch& patch) {
    auto empty_row = MatchChosen();
    if (!empty_row.has_value()) empty_row = MatchQuotient();
    if (!empty_row.has_value() || !IsOneOrZero(mask_, facts_)) return false;
    const DataType type = facts_.TypeOf(scores_);
    if (!IsFloatingPoint(type) || SoftmaxAxis(*softmax_, facts_) != -1) return false;
    DropMaskOfScores();
    if (!IsOrdinary(scores_, facts_)) return false;
    patch.Supersede(nodes_);
    Value* mask = AsBool(mask_, patch);
    constexpr double kMasked = -std::numeric_limits<double>::infinity();
    Value* scores = patch.Op("Where", {mask, scores_, patch.Number("masked", type, kMasked)});
    Value* p = patch.Op("Softmax", {scores}, {{"axis", int64_t{-1}}}, softmax_->name());
    if (*empty_row == EmptyRow::kZero)
      p = patch.Op("Where", {mask, p, patch.Number("none", type, 0)});
    if (*empty_row == EmptyRow::kZeroAlsoForNan) {
      p = patch.Op("Where", {patch.Op("IsNaN", {p}), patch.Number("none", type, 0), p});
    }
    return patch.Replace(node_->output(0), p);
  }

 private:
  Pattern Masked() {
    return Keep(&masked_, Op("Mul", {Op("Softmax", {Is(&scores_)}, &softmax_), Is(&mask_)}));
  }

  bool Matches(const Pattern& pattern) { return pattern.Match(node_->output(0), facts_, nodes_); }

  // Where(sum > 0, masked / (Where(sum > 0, sum, 1) or sum), 0)
  std::optional<EmptyRow> MatchChosen() {
    const Pattern sum = Same(&sum_);
    const Pattern first = Keep(&sum_, OfRow("ReduceSum", Masked()));
    const Pattern chosen = Op("Where", {Op("Greater", {sum, Uniform(0)}), sum, Uniform(1)});
    const Pattern quotient = Op("Div", {Same(&masked_), OneOf({sum, chosen})});
    const Pattern guarded = Op("Where", {Op("Greater", {first, Uniform(0)}), quotient, Uniform(0)});
    return Matches(guarded) ? std::optional(EmptyRow::kZeroAlsoForNan) : std::nullopt;
  }

  // masked / sum, or a sum that is kept off 0 by a number that hardly changes the quotient.
  std::optional<EmptyRow> MatchQuotient() {
    constexpr double kLargest = 1e-12;
    const Pattern sum = OfRow("ReduceSum", Same(&masked_));
    if (Matches(Op("Div", {Masked(), sum}))) return EmptyRow::kNan;
    Value* least = nullptr;
    const Pattern padded = OneOf({Op("Add", {sum, Is(&least)}), Op("Max", {sum, Is(&least)}),
                                  Op("Clip", {sum, Is(&least)})});
    if (!Matches(Op("Div", {Masked(), padded}))) return std::nullopt;
    const double number = UniformOf(least).value_or(0);
    return number > 0 && number <= kLargest ? std::optional(EmptyRow::kZero) : std::nullopt;
  }

  // A product with the mask before the Softmax, as AllenNLP has, leaves the scores that count.
  void DropMaskOfScores() {
    Value* plain = nullptr;
    MatchedNodes product;
    if (Op("Mul", {Is(&plain), Same(&mask_)}).Match(scores_, facts_, product)) scores_ = plain;
  }

  // The mask as bools: those that it was cast from, behind the same views, if there are any.
  Value* AsBool(Value* mask, Patch& patch) {
    if (Value* condition = ConditionOf(mask, facts_)) return condition;
    const Node* node = mask->producer();
    if (node == nullptr || !MovesElements(*node)) {
      return patch.Cast(mask, DataType::kBool);
    }
    std::vector<Value*> inputs = node->inputs();
    inputs[0] = AsBool(inputs[0], patch);
    return patch.Again(*node, inputs, node->attributes())[mask->producer_index()];
  }

  Facts& facts_;
  Node* const node_;
  MatchedNodes nodes_;
  Value* scores_ = nullptr;
  Node* softmax_ = nullptr;
  // The numbers 1 and 0.
  Value* mask_ = nullptr;
  Value* masked_ = nullptr;
  Value* sum_ = nullptr;
};

bool MaskScoresFirst(RuleContext& context, Node* node, Patch& patch) {
  return MaskedSoftmax(context, node).Propose(patch);
}

}  // namespace

extern const Rule kMaskedSoftmax = {
    .name = "softmax",
    .summary = "Probabilities masked and divided by what is left are masked before the Softmax",
    .anchors = {"Where", "Div"},
    .propose = MaskScoresFirst};

}  // namespace attnrun::opt
