// SPDX-License-Identifier: Apache-2.0

// Rewrites the standard's own Attention (ai.onnx, versions 23 to 25) to attnrun.Attention, which
// the other rules know. A past of keys and values becomes a Concat before it:
//
//   q  k  v  mask  past_k  past_v           past_k  k   past_v  v
//    \  \ |  /    /       /                    \   /       \   /
//        Attention                  ->    q    Concat      Concat    mask
//        /   |   \                         \     | \        / |     /
//       y  pres_k  pres_v                   Attention  pres_k  pres_v
//                                               |
//                                               y

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "ops/attention/attention.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

using enum ops::Attention::Input;
using enum ops::Attention::Output;

class StandardAttention {
 public:
  StandardAttention(RuleContext& context, Node* node)
      : context_(context), facts_(context.facts), node_(node) {}

  bool Propose(Patch& patch) {
    if (const std::string why = Unsupported(); !why.empty()) {
      context_.Miss(*node_, why);
      return false;
    }
    patch.Supersede({node_});
    Value* k = WithPast(patch, kK, kPastKey);
    Value* v = WithPast(patch, kV, kPastValue);
    Value* y = patch.Op("attnrun::Attention", Operands(k, v), Attributes(), node_->name());
    patch.Replace(node_->output(kY), merged_ ? y : SplitHeads(patch, y, heads_, value_size_));
    if (IsRead(kPresentKey)) patch.Replace(node_->output(kPresentKey), k);
    if (IsRead(kPresentValue)) patch.Replace(node_->output(kPresentValue), v);
    return true;
  }

 private:
  bool IsRead(ops::Attention::Output output) const {
    const Value* value = node_->output(output);
    return value != nullptr && (!value->consumers().empty() || context_.graph.IsOutput(value));
  }
  bool HasPast() const { return node_->input(kPastKey) != nullptr; }

  // The reason why the node cannot become an attnrun.Attention; empty if it can.
  std::string Unsupported() {
    const int rank = facts_.RankOf(node_->input(kQ));
    if (rank != 3 && rank != 4) return "the rank of Q is not known";
    merged_ = rank == 3;
    heads_ = merged_ ? AttributeOr<int64_t>(*node_, "q_num_heads", 0) : 0;
    kv_heads_ = merged_ ? AttributeOr<int64_t>(*node_, "kv_num_heads", 0) : 0;
    const auto width = facts_.Extent(node_->input(kQ), -1);
    const auto value_width = facts_.Extent(node_->input(kV), -1);
    if (!merged_) heads_ = facts_.Extent(node_->input(kQ), 1).value_or(0);
    if (heads_ <= 0 || !width.has_value() || !value_width.has_value()) {
      return "the number or the size of its heads is not known";
    }
    head_size_ = merged_ ? *width / heads_ : *width;
    value_size_ = *value_width;
    if (node_->input(kValidKeys) != nullptr) return "it has nonpad_kv_seqlen";
    if (IsRead(kScores)) return "its scores are read";
    if (HasPast() != (node_->input(kPastValue) != nullptr)) return "it has half of a past";
    splits_keys_ = merged_ && (HasPast() || IsRead(kPresentKey) || IsRead(kPresentValue));
    if (splits_keys_ && kv_heads_ <= 0) return "the number of heads of K is not known";
    if (HasPast() && Positional() && Positions(kQ) != Positions(kK)) {
      return "there are other queries than new keys";
    }
    return MaskProblem();
  }

  // True if the node masks by position, where positions begin after the past.
  bool Positional() const {
    return AttributeOr<int64_t>(*node_, "is_causal", 0) != 0 ||
           AttributeOr<int64_t>(*node_, "left_window_size", -1) >= 0 ||
           AttributeOr<int64_t>(*node_, "right_window_size", -1) >= 0;
  }
  SymInt Positions(ops::Attention::Input operand) {
    const std::vector<SymInt>* dims = facts_.DimsOf(node_->input(operand));
    const size_t axis = merged_ ? 1 : 2;
    return dims != nullptr && dims->size() == axis + 2 ? (*dims)[axis] : SymInt::Unknown();
  }

  // From version 24 on, a mask that has fewer columns than there are keys masks the remaining keys.
  std::string MaskProblem() {
    Value* mask = node_->input(kMask);
    if (mask == nullptr) return "";
    const DataType type = facts_.TypeOf(mask);
    if (type != DataType::kBool && type != facts_.TypeOf(node_->input(kQ))) {
      return "its mask is neither bool nor of the type of Q";
    }
    if (node_->opset() < 24) return "";
    const std::vector<SymInt>* dims = facts_.DimsOf(mask);
    const std::vector<SymInt>* keys = facts_.DimsOf(node_->input(kK));
    const bool known = dims != nullptr && !dims->empty() && keys != nullptr && !HasPast();
    if (known && dims->back() == (*keys)[merged_ ? 1 : 2]) return "";
    return "its mask may have fewer keys than K";
  }

  // Past and present have an axis of heads, even where K and V have none.
  Value* WithPast(Patch& patch, ops::Attention::Input current, ops::Attention::Input past) {
    Value* heads = node_->input(current);
    if (splits_keys_) {
      const int64_t size = current == kK ? head_size_ : value_size_ / kv_heads_;
      heads = SplitHeads(patch, heads, kv_heads_, size);
    }
    if (!HasPast()) return heads;
    return patch.Op("Concat", {node_->input(past), heads}, {{"axis", int64_t{2}}});
  }

  std::vector<Value*> Operands(Value* k, Value* v) {
    std::vector<Value*> operands = {node_->input(kQ), k, v};
    Value* mask = node_->input(kMask);
    if (mask == nullptr) return operands;
    if (facts_.TypeOf(mask) == DataType::kBool) operands.push_back(nullptr);
    operands.push_back(mask);
    return operands;
  }

  static std::string Layout(bool merged, int64_t heads) {
    return merged ? absl::StrCat("b s (n:", heads, " h)") : "b n s h";
  }

  AttributeMap Attributes() const {
    AttributeMap attributes;
    attributes["q_layout"] = Layout(merged_, heads_);
    attributes["k_layout"] = Layout(merged_ && !splits_keys_, kv_heads_);
    attributes["v_layout"] = Layout(merged_ && !splits_keys_, kv_heads_);
    const double scale = 1 / std::sqrt(static_cast<double>(head_size_));
    attributes["scale"] = AttributeOr(*node_, "scale", static_cast<float>(scale));
    if (const AttributeValue* softcap = node_->attribute("softcap")) {
      attributes["softcap"] = *softcap;
    }
    attributes["masked_row"] = std::string("zero");
    // With a past, query s stands at position s + T - S.
    const bool causal = AttributeOr<int64_t>(*node_, "is_causal", 0) != 0;
    if (causal) attributes["causal"] = int64_t{HasPast() ? 2 : 1};
    const int64_t left = AttributeOr<int64_t>(*node_, "left_window_size", -1);
    const int64_t right = AttributeOr<int64_t>(*node_, "right_window_size", -1);
    if (left >= 0) attributes["left_window"] = left;
    if (right >= 0) attributes["right_window"] = right;
    return attributes;
  }

  static Value* SplitHeads(Patch& patch, Value* merged, int64_t count, int64_t size) {
    Value* heads = patch.Op("Reshape", {merged, patch.Ints({0, 0, count, size})});
    return patch.Op("Transpose", {heads}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  }

  RuleContext& context_;
  Facts& facts_;
  Node* const node_;
  bool merged_ = false;
  bool splits_keys_ = false;
  int64_t heads_ = 0;
  int64_t kv_heads_ = 0;
  int64_t head_size_ = 0;
  int64_t value_size_ = 0;
};

bool ConvertStandardAttention(RuleContext& context, Node* node, Patch& patch) {
  return StandardAttention(context, node).Propose(patch);
}

}  // namespace

extern const Rule kStandardAttention = {
    .name = "standard_attention",
    .summary = "The standard's Attention becomes attnrun.Attention",
    .anchors = {"Attention"},
    .propose = ConvertStandardAttention};

}  // namespace attnrun::opt
