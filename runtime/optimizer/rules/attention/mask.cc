// SPDX-License-Identifier: Apache-2.0

// Exporters compute causal masks, windows and padding as tensors as large as the scores.
// attnrun.Attention knows keys by position, so such masks become attributes and a mask of keys:
//
//   t = Range(0, T)      s = Range(0, S)                padding [B, T]
//           t <= s           t > s - 4                     |
//             \_____And_______/                   [B, 1, 1, T]
//                      \______________And______________/
//                                      |
//                    Where(mask, 0, -inf or float's least) [B, 1, S, T]
//                                      |
//            Attention(q, k, v, bias)
//   -->
//            Attention(q, k, v, -, padding [B, 1, 1, T]) {causal=1, left_window=3, mask_value=...}
//
// A bias that is 0 where a condition holds and absorbs any score elsewhere becomes a mask. A mask
// loses parts that always hold and is read before it was broadcast. Comparisons of key positions
// with query positions become attributes.

#include <limits>
#include <optional>
#include <utility>

#include "ops/attention/fused_attention.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/broadcasting.h"
#include "optimizer/analysis/conditions.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/reshape.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/attention/score_steps.h"
#include "optimizer/rules/attention/unmasked_keys.h"

namespace attnrun::opt {
namespace {

// The extents [B, N, S, T] of the scores of an attnrun.Attention.
std::optional<std::vector<SymInt>> ScoresDims(const Node& node, Facts& facts) {
  const absl::StatusOr<std::unique_ptr<ops::Op>> op = ops::OpRegistry::Get().Create(node);
  if (!op.ok()) return std::nullopt;
  std::vector<const ops::ValueFacts*> inputs;
  for (const Value* input : node.inputs()) {
    inputs.push_back(input == nullptr ? nullptr : &facts.Of(input));
  }
  const std::vector<const Tensor*> constants(inputs.size(), nullptr);
  std::vector<ops::ValueFacts> outputs(2);
  ops::InferContext context(inputs, constants, absl::MakeSpan(outputs));
  (*op)->Infer(context);
  return outputs[1].dims;
}

// A bias that is `unmasked` where the condition holds and the number `mask_value` where it masks.
struct ChosenBias {
  Condition condition;
  Value* unmasked = nullptr;
  double mask_value = 0;

  bool IsZero() const { return UniformOf(unmasked) == 0.0; }
};

std::optional<ChosenBias> AsChosen(const Value* bias) {
  const Node* where = bias->producer();
  if (!IsOp(where, "Where")) return std::nullopt;
  std::optional<ChosenBias> chosen;
  // The lower of two numbers masks.
  for (const int side : {1, 2}) {
    const auto number = UniformOf(where->input(side));
    if (!number.has_value() || (chosen.has_value() && chosen->mask_value <= *number)) continue;
    chosen = ChosenBias{{where->input(0), side == 1}, where->input(3 - side), *number};
  }
  return chosen;
}

class MaskSimplification {
 public:
  MaskSimplification(Facts& facts, Node* node, std::vector<SymInt> scores, Patch& patch)
      : facts_(facts),
        node_(node),
        scores_(std::move(scores)),
        patch_(patch),
        inputs_(node->inputs()),
        attributes_(node->attributes()) {
    inputs_.resize(ops::FusedAttention::kSinks + 1, nullptr);
  }

  // Fills `patch` and returns true if there is anything to simplify.
  bool Propose() {
    Value*& bias = inputs_[ops::FusedAttention::kBias];
    if (bias != nullptr) {
      bias = Source(bias);
      SplitSum(bias);
      ReadBias(bias);
      if (bias != nullptr && UniformOf(bias) == 0.0) bias = nullptr;
    }
    ReadMasks();
    if (Value*& sinks = inputs_[ops::FusedAttention::kSinks]) sinks = Source(sinks, 1);
    const bool masks =
        inputs_[ops::FusedAttention::kMask] != nullptr || by_position_ || HasPositions();
    if (!masks) attributes_.erase("mask_value");
    while (inputs_.back() == nullptr) inputs_.pop_back();
    if (inputs_ == node_->inputs() && attributes_.size() == node_->attributes().size()) {
      return false;
    }
    patch_.Rewrite(node_, inputs_, attributes_);
    return true;
  }

 private:
  bool HasPositions() const {
    return AttributeOr<int64_t>(*node_, "causal", 0) != 0 ||
           AttributeOr<int64_t>(*node_, "left_window", -1) >= 0 ||
           AttributeOr<int64_t>(*node_, "right_window", -1) >= 0;
  }

  // True if adding the number to a score absorbs the score, so that masking may as well replace the
  // score by the number. In a bias that holds nothing but this number and another, the lowest
  // number of float16 suffices: adding it absorbs scores below 16, half its distance to its
  // neighbor.
  bool AbsorbsAlone(double number) const {
    constexpr double kLeastHalf = -65504;
    const DataType type = facts_.TypeOf(node_->input(ops::FusedAttention::kQuery));
    return Absorbs(number) || (type == DataType::kFloat16 && number <= kLeastHalf);
  }

  bool HasMaskValueOfOthers(const ChosenBias& bias) const {
    const auto value = static_cast<float>(bias.mask_value);
    if (static_cast<double>(value) != bias.mask_value) return false;
    const bool masks = inputs_[ops::FusedAttention::kMask] != nullptr || HasPositions();
    constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
    return !masks || AttributeOr(*node_, "mask_value", kMinusInfinity) == value;
  }

  // The source of a value that broadcasts to the scores, or to `columns` of their columns.
  Value* Source(Value* value, std::optional<SymInt> columns = std::nullopt) {
    std::vector<SymInt> scores = scores_;
    if (columns.has_value()) scores.back() = *columns;
    return BroadcastSource(
        value, facts_, [&](const std::vector<SymInt>& dims) { return BroadcastsTo(dims, scores); });
  }

  // A triangle of a mask value beside zeros is a choice between two numbers, too.
  std::optional<ChosenBias> Chosen(Value* bias) {
    const auto number = TriangleOf(bias, facts_);
    if (!number.has_value()) {
      auto chosen = AsChosen(bias);
      return chosen.has_value() ? chosen : ChosenBehindView(bias);
    }
    if (!AbsorbsAlone(*number)) return std::nullopt;
    Value* masked = patch_.Cast(bias, DataType::kBool);
    return ChosenBias{{masked, true}, Number(*bias, 0), *number};
  }

  // A view of a choice between two numbers is a choice by the view of the condition.
  std::optional<ChosenBias> ChosenBehindView(Value* bias) {
    const Node* view = bias->producer();
    if (view == nullptr || !ops::TraitsOf(*view).rearranges) return std::nullopt;
    auto chosen = AsChosen(view->input(0));
    if (!chosen.has_value() || !UniformOf(chosen->unmasked).has_value()) return std::nullopt;
    // A condition that is broadcast to the choice has other axes.
    const std::vector<SymInt>* dims = facts_.DimsOf(view->input(0));
    const std::vector<SymInt>* own = facts_.DimsOf(chosen->condition.value);
    if (dims == nullptr || own == nullptr || *own != *dims) return std::nullopt;
    std::vector<Value*> inputs = view->inputs();
    inputs[0] = chosen->condition.value;
    chosen->condition.value = patch_.Again(*view, inputs, view->attributes())[0];
    return chosen;
  }

  void AddMask(const ChosenBias& chosen) {
    attributes_["mask_value"] = static_cast<float>(chosen.mask_value);
    masks_.push_back(chosen.condition);
  }

  // Splits a sum of a table and a mask in the form of a bias: the mask is recorded, the table
  // stays.
  void SplitSum(Value*& bias) {
    constexpr double kLarge = 1e20;
    for (const auto& [mask, table] : ReadingsOf(ProducerOf(bias, "Add"))) {
      const auto chosen = Chosen(Source(mask));
      if (!chosen.has_value() || !chosen->IsZero() || !Absorbs(chosen->mask_value)) continue;
      if (!HasMaskValueOfOthers(*chosen)) continue;
      if (!IsOrdinary(table, facts_, kLarge)) continue;
      AddMask(*chosen);
      bias = Source(table);
      return;
    }
  }

  void ReadBias(Value*& bias) {
    const auto chosen = Chosen(bias);
    if (!chosen.has_value()) return;
    if (masks_.empty() && AbsorbsAlone(chosen->mask_value) && HasMaskValueOfOthers(*chosen)) {
      AddMask(*chosen);
      bias = chosen->IsZero() ? nullptr : Source(chosen->unmasked);
      return;
    }
    const auto number = UniformOf(chosen->unmasked);
    if (!number.has_value()) return;
    const UnmaskedKeys keys = ReadMask({chosen->condition}, scores_, false, facts_);
    if (!keys.simpler) return;
    Value* condition = AllOf(patch_, keys.rest);
    Value* unmasked = Number(*bias, *number);
    bias = condition == nullptr
               ? unmasked
               : patch_.Op("Where", {condition, unmasked, Number(*bias, chosen->mask_value)});
    if (condition == nullptr && chosen->IsZero()) bias = nullptr;
  }

  Value* Number(const Value& like, double number) {
    return patch_.Number("bias", facts_.TypeOf(&like), number);
  }

  void ReadMasks() {
    Value*& mask = inputs_[ops::FusedAttention::kMask];
    if (mask != nullptr) {
      Value* narrow = WithoutRepeats(patch_, mask, {-3, -2});
      masks_.insert(masks_.begin(), Condition{narrow});
    }
    if (masks_.empty()) return;
    const UnmaskedKeys keys = ReadMask(masks_, scores_, !HasPositions(), facts_);
    by_position_ = keys.causal != 0 || keys.left_window >= 0 || keys.right_window >= 0;
    if (keys.causal != 0) attributes_["causal"] = keys.causal;
    if (keys.left_window >= 0) attributes_["left_window"] = keys.left_window;
    if (keys.right_window >= 0) attributes_["right_window"] = keys.right_window;
    if (keys.simpler || masks_.size() > 1 || masks_[0].negated) {
      mask = AllOf(patch_, keys.rest);
    } else {
      mask = masks_[0].value;
    }
  }

  Facts& facts_;
  Node* const node_;
  const std::vector<SymInt> scores_;
  Patch& patch_;
  std::vector<Value*> inputs_;
  AttributeMap attributes_;
  std::vector<Condition> masks_;
  bool by_position_ = false;
};

bool SimplifyMasks(RuleContext& context, Node* node, Patch& patch) {
  const auto scores = ScoresDims(*node, context.facts);
  if (!scores.has_value() || node->inputs().size() <= ops::FusedAttention::kBias) return false;
  return MaskSimplification(context.facts, node, *scores, patch).Propose();
}

}  // namespace

extern const Rule kAttentionMask = {.name = "attention_mask",
                                    .summary =
                                        "Masks of positions become the attributes causal and "
                                        "window, padding becomes a mask of keys",
                                    .anchors = {"attnrun.Attention"},
                                    .propose = SimplifyMasks};

}  // namespace attnrun::opt
