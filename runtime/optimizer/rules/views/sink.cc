// SPDX-License-Identifier: Apache-2.0

// A view sinks below a node that works on each position of the axes that it rearranges alone. Axes
// that the node mixes are the last ones and stay as they are.

#include <algorithm>
#include <vector>

#include "absl/algorithm/container.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/axes.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/axis_map.h"
#include "optimizer/rewrite/reshape.h"
#include "optimizer/rules/views/moves.h"

namespace attnrun::opt {
namespace {

// True if the value is computed by a node that rearranges elements.
bool IsRearranged(const Value* value) {
  const Node* view = value == nullptr ? nullptr : value->producer();
  return view != nullptr && ops::TraitsOf(*view).rearranges;
}

// True if the view has the elements of the base in another arrangement, but its last axes as they
// are.
bool Rearranges(const View& base, const View& view, int mixed) {
  return MayRearrange(base, view) && base.rank() >= mixed &&
         std::equal(view.axes().end() - mixed, view.axes().end(), base.axes().end() - mixed);
}

// The number of leading axes of input 0 that are the same axes of output 0, and that no other input
// has.
int OwnAxes(const ops::AxisRule& rule) {
  const auto is_none = [](int axis) { return axis == ops::AxisTrack::kNone; };
  for (int axis = 0;; ++axis) {
    const ops::AxisTrack* track = rule.OfInput(0, axis);
    if (track == nullptr || track->outputs[0] != axis || !absl::c_all_of(track->ones, is_none) ||
        !std::all_of(track->inputs.begin() + 1, track->inputs.end(), is_none)) {
      return axis;
    }
  }
}

// One node that changes places with the views that it reads.
class Sinking {
 public:
  Sinking(Facts& facts, Node* node, Patch& patch) : facts_(facts), node_(node), patch_(patch) {}

  bool Run() {
    const std::vector<SymInt>* result = facts_.DimsOf(node_->output(0));
    if (result == nullptr) return false;
    result_ = *result;
    // A node that quantizes all elements by one scale does not depend on their arrangement.
    const bool quantizes = IsOp(node_, "DynamicQuantizeLinear");
    elementwise_ = ops::TraitsOf(*node_).elementwise || quantizes;
    // Traces follow factors themselves, and rules find positions that integers count behind views.
    double factor = 1;
    if (ScaledOperand(*node_, factor) != nullptr) return false;
    if (elementwise_) {
      if (IsInteger(facts_.TypeOf(node_->output(0))) && !quantizes) return false;
      return absl::c_any_of(node_->inputs(),
                            [&](Value* x) { return IsRearranged(x) && SinkInput(x); });
    }
    const int own = OwnAxes(AxesOf(*node_, facts_));
    mixed_ = facts_.RankOf(node_->input(0)) - own;
    return own > 0 && IsRearranged(node_->input(0)) && HasOneOutput() && SinkInput(node_->input(0));
  }

 private:
  bool HasOneOutput() const {
    return std::all_of(node_->outputs().begin() + 1, node_->outputs().end(),
                       [](const Value* output) { return output == nullptr; });
  }

  // Moves the view, or a chain of views, that computes an input.
  bool SinkInput(Value* input) {
    for (const Traced& traced : Trace(input, facts_)) {
      if (elementwise_ && !MayCross(*input, *traced.base)) continue;
      View base = View::Dense(*facts_.DimsOf(traced.base));
      View view = traced.view;
      if (elementwise_ && view.Dims() != result_ && !Widen(base, view)) continue;
      if (!Rearranges(base, view, mixed_)) continue;
      // Tracks do not tell: to a rotation the second of four axes is the heads.
      const bool any_rank = elementwise_ || ops::TraitsOf(*node_).takes_any_rank;
      if (base.rank() != view.rank() && !any_rank) continue;
      const auto inputs = InputsAbove(input, traced.base, base, view);
      if (!inputs.has_value()) continue;
      // The view is written as it is spelled where it is one node.
      const Node& last = *input->producer();
      const bool same = traced.base == last.input(0) && view.Dims() == traced.view.Dims();
      return Move(*inputs, base, view, elementwise_ && same ? &last : nullptr);
    }
    return false;
  }

  // Gives an operand that broadcasts along some axes, and its base, the extents of the result,
  // where these axes have the same place from the end in both. False if that is not the same view.
  bool Widen(View& base, View& view) const {
    std::vector<SymInt> full = base.Dims();
    const std::vector<SymInt> dims = view.Dims();
    if (dims.size() != result_.size()) return false;
    for (size_t i = 1; i <= std::min(dims.size(), full.size()); ++i) {
      if (dims[dims.size() - i].is_constant(1)) full[full.size() - i] = result_[dims.size() - i];
    }
    const auto wide = base.Expanded(full);
    const auto of_result = wide.has_value() ? wide->Reshaped(result_) : std::nullopt;
    if (!of_result.has_value() || of_result != view.Expanded(result_)) return false;
    base = View::Dense(full);
    auto widened = base.Reshaped(result_);
    if (!widened.has_value()) return false;
    view = *std::move(widened);
    return true;
  }

  // True if an element-wise node gains from reading `base` in place of the view.
  bool MayCross(const Value& view, const Value& base) const {
    // The views of all parts of a packed value move above it together.
    const Node* source = base.producer();
    if (source != nullptr && IsPart(*source)) return false;
    // A Transpose with other readers stays where it is, so that no second one copies as much.
    return view.consumers().size() == 1 || ops::TraitsOf(*view.producer()).keeps_order;
  }

  // True if the node takes a part of its input. One that repeats elements does not.
  bool IsPart(const Node& node) const {
    const std::vector<SymInt>* whole = facts_.DimsOf(node.input(0));
    return MovesElements(node) && whole != nullptr && facts_.DimsOf(node.output(0)) != nullptr &&
           !SymInt::DivideExactly(Product(*facts_.DimsOf(node.output(0))), Product(*whole))
                .has_value();
  }

  // The inputs of the node before they were rearranged as `input` is; nullopt if one was not.
  std::optional<std::vector<Value*>> InputsAbove(const Value* input, Value* above, const View& base,
                                                 const View& view) {
    std::vector<Value*> inputs = node_->inputs();
    if (!elementwise_) {
      inputs[0] = above;
      return inputs;
    }
    const auto back = AxisMap::Between(view.axes(), base.axes());
    if (!back.has_value()) return std::nullopt;
    for (Value*& other : inputs) {
      if (other == nullptr) continue;
      other = other == input ? above : Above(other, *back, base.Dims());
      if (other == nullptr) return std::nullopt;
    }
    return inputs;
  }

  // The value that broadcasts to `dims` as the operand does after the map; null if there is none.
  Value* Above(Value* operand, const AxisMap& back, const std::vector<SymInt>& dims) {
    for (const Traced& traced : Trace(operand, facts_)) {
      const auto plain = View::Dense(*facts_.DimsOf(traced.base)).Expanded(dims);
      if (plain.has_value() && back.Apply(traced.view) == plain) return traced.base;
    }
    return nullptr;
  }

  bool Move(const std::vector<Value*>& inputs, const View& base, const View& view,
            const Node* same) {
    const auto forth = AxisMap::Between(Leading(base, mixed_), Leading(view, mixed_));
    if (!forth.has_value()) return false;
    const std::vector<Value*> moved = patch_.Again(*node_, inputs, Attributes());
    if (moved[0] == nullptr) return false;
    const int own = base.rank() - mixed_;
    if (!elementwise_ && OwnAxes(AxesOf(*moved[0]->producer(), facts_)) != own) return false;
    const auto mixed = static_cast<int>(result_.size()) - view.rank() + mixed_;
    std::vector<SymInt> expected = base.Dims();
    expected.resize(own);
    expected.insert(expected.end(), result_.end() - mixed, result_.end());
    const std::vector<SymInt>* dims = facts_.DimsOf(moved[0]);
    if (dims == nullptr || *dims != expected) return false;
    if (ViewsAbove(*moved[0]->producer()) >= ViewsAbove(*node_)) return false;
    std::vector<Value*> like = inputs;
    std::erase(like, nullptr);
    Value* result = nullptr;
    if (same != nullptr) {
      std::vector<Value*> operands = same->inputs();
      operands[0] = moved[0];
      result = patch_.Again(*same, operands, same->attributes())[0];
    } else {
      result = forth->Apply(patch_, moved[0], like, mixed);
    }
    result = ReshapeTo(patch_, result, result_, like);
    if (!patch_.Substitute(node_, result)) return false;
    for (size_t i = 1; i < moved.size(); ++i) {
      if (node_->output(static_cast<int>(i)) != nullptr) {
        patch_.Replace(node_->output(static_cast<int>(i)), moved[i]);
      }
    }
    return true;
  }

  // The attributes with an axis that counts from the end, since leading axes may become fewer.
  AttributeMap Attributes() const {
    AttributeMap attributes = node_->attributes();
    const auto axis = AttributeOr<int64_t>(*node_, "axis", -1);
    if (!elementwise_ && axis >= 0) {
      attributes["axis"] = axis - facts_.RankOf(node_->input(0));
    }
    return attributes;
  }

  Facts& facts_;
  Node* node_;
  Patch& patch_;
  std::vector<SymInt> result_;
  bool elementwise_ = false;
  // The number of last axes that the node may mix.
  int mixed_ = 0;
};

}  // namespace

bool SinkViews(RuleContext& context, Node* node, Patch& patch) {
  if (absl::c_none_of(node->inputs(), IsRearranged)) return false;
  // Views of views are simplified in the clean-up.
  if (ops::TraitsOf(*node).moves_elements) return false;
  return Sinking(context.facts, node, patch).Run();
}

}  // namespace attnrun::opt
