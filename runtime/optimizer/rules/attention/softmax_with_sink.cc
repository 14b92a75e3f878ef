// SPDX-License-Identifier: Apache-2.0

// Recognizes a softmax along the last axis whose sum has one more term, as attention sinks and
// "softmax plus one" are written out:
//
//   m = Max(ReduceMax(x), k)                        x   k
//   e = Exp(x - m)                                   \ /
//   y = e / (ReduceSum(e) + Exp(k - m))    ->      Concat, or Pad if k is a number
//                                                     |
//                                                  Softmax
//                                                     |
//                                                   Slice -> y
//
// k is 0 in "softmax plus one", where a Relu or Clip may take the maximum. m may be ReduceMax(x)
// alone if no row of the scores can be all -inf, which would give NaN. Without any maximum, Exp(x)
// / (ReduceSum(Exp(x)) + c) has k = log(c).

#include <cmath>
#include <string>

#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/reduction.h"
#include "optimizer/rewrite/pattern.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/attention/sinks.h"

namespace attnrun::opt {
namespace {

class SoftmaxWithSink {
 public:
  SoftmaxWithSink(RuleContext& context, Node* node)
      : context_(context), facts_(context.facts), node_(node) {}

  bool Propose(Patch& patch) {
    Value* own = nullptr;
    const Pattern sum = Op("Add", {OfRow("ReduceSum", Same(&exponential_)), Is(&own)});
    const Pattern quotient = OneOf({Op("Div", {Is(&exponential_), sum}),
                                    Op("Mul", {Is(&exponential_), Op("Reciprocal", {sum})})});
    if (!quotient.Match(node_->output(0), facts_, nodes_)) return false;
    if (!MatchUnshifted(own) && !MatchShifted(own)) return false;
    if (facts_.RankOf(x_) < 1) return false;
    patch.Supersede(nodes_);
    Value* y = SoftmaxBeside(patch, facts_, x_, sink_, number_, node_->name());
    if (y == nullptr) return false;
    return patch.Replace(node_->output(0), y);
  }

 private:
  bool Miss(std::string why) {
    context_.Miss(*node_, std::move(why));
    return false;
  }

  // Matches a positive number c added to the exponentials of x itself: the sink is log(c).
  bool MatchUnshifted(const Value* own) {
    const auto number = UniformOf(own);
    if (!number.has_value() || !(*number > 0)) return false;
    const Node* exp = ProducerOf(exponential_, "Exp");
    const Node* inner = exp == nullptr ? nullptr : ProducerOf(exp->input(0), "Sub");
    if (inner != nullptr && FindReduction(inner->input(1), "ReduceMax", facts_)) return false;
    number_ = std::log(*number);
    return std::isfinite(number_) && Op("Exp", {Is(&x_)}).Match(exponential_, facts_, nodes_);
  }

  bool MatchShifted(Value* own) {
    const Pattern shifted = Op("Exp", {Op("Sub", {Is(&x_), Is(&shift_)})});
    return shifted.Match(exponential_, facts_, nodes_) && MatchOwn(own) && MatchShift();
  }

  // Matches Exp(k - m), or Exp(-m).
  bool MatchOwn(Value* own) {
    const Pattern difference =
        OneOf({Op("Neg", {Same(&shift_)}), Op("Sub", {Is(&sink_), Same(&shift_)})});
    if (Op("Exp", {difference}).Match(own, facts_, nodes_)) {
      const auto number = sink_ == nullptr ? 0 : UniformOf(sink_);
      if (!number.has_value()) return true;
      sink_ = nullptr;
      number_ = *number;
      return std::isfinite(number_);
    }
    return UniformOf(own).value_or(0) > 0 &&
           OfRow("ReduceMax", Same(&x_)).Match(shift_, facts_, nodes_) &&
           Miss(
               "beside exponentials relative to the greatest of their row stands a number, a "
               "sink that rises with it");
  }

  bool MatchShift() {
    const Pattern greatest = OfRow("ReduceMax", Same(&x_));
    const Pattern sink = sink_ == nullptr ? Uniform(number_) : Same(&sink_);
    const auto matches = [&](const Pattern& shift) { return shift.Match(shift_, facts_, nodes_); };
    if (matches(Op("Max", {greatest, sink}))) return true;
    if (sink_ == nullptr && matches(Op("Clip", {greatest, sink}))) return true;
    if (sink_ == nullptr && number_ == 0 && matches(Op("Relu", {greatest}))) return true;
    return matches(greatest) && HaveFiniteRows(x_, context_, *node_);
  }

  RuleContext& context_;
  Facts& facts_;
  Node* const node_;
  MatchedNodes nodes_;
  Value* exponential_ = nullptr;
  Value* x_ = nullptr;
  Value* shift_ = nullptr;
  // Null if the sink is `number_`.
  Value* sink_ = nullptr;
  double number_ = 0;
};

bool FuseSoftmaxWithSink(RuleContext& context, Node* node, Patch& patch) {
  return SoftmaxWithSink(context, node).Propose(patch);
}

}  // namespace

extern const Rule kSoftmaxWithSink = {
    .name = "softmax_with_sink",
    .summary = "A softmax with a sink beside the scores becomes Softmax with one more column",
    .anchors = {"Div", "Mul"},
    .propose = FuseSoftmaxWithSink};

}  // namespace attnrun::opt
