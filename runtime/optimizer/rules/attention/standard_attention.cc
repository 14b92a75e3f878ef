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
//
// A mask that may have fewer columns than there are keys is padded so that it masks the others.
// nonpad_kv_seqlen, the number of valid keys of each sample, becomes a mask.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "ops/attention/attention.h"
#include "optimizer/analysis/broadcasting.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/patched_body.h"
#include "optimizer/rewrite/reshape.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

using enum ops::Attention::Input;
using enum ops::Attention::Output;

class StandardAttention {
 public:
  StandardAttention(RuleContext& context, Node* node, Patch& patch)
      : context_(context), node_(node), patch_(patch), b_(context, node, patch) {}

  bool Propose() {
    if (const std::string why = FindOperands(); !why.empty()) {
      context_.Miss(*node_, why);
      return false;
    }
    if (SplitsKeys()) PutKeysByHead();
    if (HasPast()) AddPast();
    AddMask();
    if (b_.input(kValidKeys) != nullptr) MaskByCount();
    Value* y = b_.Op("attnrun::Attention", {q_, k_, v_, bias_, mask_}, Attributes());
    b_.Give(merged_ ? y : SplitHeads(y, Extents({{q_, 1}, {v_, 3}})), kY);
    if (b_.wants(kPresentKey)) b_.Give(k_, kPresentKey);
    if (b_.wants(kPresentValue)) b_.Give(v_, kPresentValue);
    return true;
  }

 private:
  bool HasPast() const { return b_.input(kPastKey) != nullptr; }

  // Returns the reason why the node cannot become an attnrun.Attention; empty if it can.
  std::string FindOperands() {
    const int rank = b_.RankOf(q_);
    if (rank != 3 && rank != 4) return "the rank of Q is not known";
    merged_ = rank == 3;
    keys_by_head_ = !merged_;
    if (!FindHeads()) return "the number or the size of its heads is not known";
    if (b_.wants(kScores)) return "its scores are read";
    if (HasPast() != (b_.input(kPastValue) != nullptr)) return "it has half of a past";
    if (HasPast() && Positional() && Positions(kQ) != Positions(kK)) {
      return "there are other queries than new keys";
    }
    if (b_.input(kMask) == nullptr || b_.RankOf(b_.input(kMask)) >= 0) return "";
    return "the rank of its mask is not known";
  }

  // Returns false if a number or a size that is needed is not known.
  bool FindHeads() {
    heads_ = AttributeOr<int64_t>(*node_, "q_num_heads", 0);
    kv_heads_ = AttributeOr<int64_t>(*node_, "kv_num_heads", 0);
    if (merged_ && (heads_ <= 0 || kv_heads_ <= 0)) return false;
    head_size_ = b_.Extent(q_, -1).value_or(0) / (merged_ ? heads_ : 1);
    value_size_ = b_.Extent(v_, -1).value_or(0) / (merged_ ? kv_heads_ : 1);
    if (head_size_ <= 0 && node_->attribute("scale") == nullptr) return false;
    return !merged_ || !SplitsKeys() || (head_size_ > 0 && value_size_ > 0);
  }

  // True if there are past or present keys, which have an axis of heads even where K has none.
  bool SplitsKeys() const { return HasPast() || b_.wants(kPresentKey) || b_.wants(kPresentValue); }

  // True if the node masks by position, where positions begin after the past.
  bool Positional() const { return Causal() || Window("left") >= 0 || Window("right") >= 0; }
  bool Causal() const { return AttributeOr<int64_t>(*node_, "is_causal", 0) != 0; }
  int64_t Window(const char* side) const {
    return AttributeOr<int64_t>(*node_, absl::StrCat(side, "_window_size"), -1);
  }
  int PositionsAxis() const { return merged_ ? 1 : 2; }
  int KeysAxis() const { return keys_by_head_ ? 2 : 1; }
  SymInt Positions(ops::Attention::Input operand) {
    return b_.Dim(b_.input(operand), PositionsAxis());
  }

  // The extents of axes, each as a vector of one element or as a constant.
  struct Axis {
    Value* value;
    int axis;
  };
  std::vector<Value*> Extents(const std::vector<Axis>& axes) {
    std::vector<Value*> extents;
    for (const auto& [value, axis] : axes) {
      const auto known = b_.Extent(value, axis);
      extents.push_back(known.has_value() ? b_.Ints({*known})
                                          : b_.Unsqueeze(b_.ExtentOf(value, axis), {0}));
    }
    return extents;
  }

  // Splits rows [B, S, N * H] into heads [B, N, S, H]; `heads` are N and H.
  Value* SplitHeads(Value* rows, std::vector<Value*> heads) {
    heads.insert(heads.begin(), b_.Ints({0, 0}));
    Value* split = b_.Op("Reshape", {rows, b_.Op("Concat", heads, {{"axis", int64_t{0}}})});
    return b_.Op("Transpose", {split}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  }

  void PutKeysByHead() {
    if (keys_by_head_) return;
    k_ = SplitHeads(k_, {b_.Ints({kv_heads_, head_size_})});
    v_ = SplitHeads(v_, {b_.Ints({kv_heads_, value_size_})});
    keys_by_head_ = true;
  }

  void AddPast() {
    k_ = b_.Op("Concat", {b_.input(kPastKey), k_}, {{"axis", int64_t{2}}});
    v_ = b_.Op("Concat", {b_.input(kPastValue), v_}, {{"axis", int64_t{2}}});
  }

  void AddMask() {
    Value* mask = b_.input(kMask);
    if (mask == nullptr) return;
    if (IsInteger(b_.TypeOf(mask))) {
      const bool wide = b_.TypeOf(q_) == DataType::kDouble;
      mask = b_.Cast(mask, wide ? DataType::kDouble : DataType::kFloat);
    }
    (b_.TypeOf(mask) == DataType::kBool ? mask_ : bias_) = WithAllKeys(mask);
  }

  // From version 24 on, a mask that has fewer columns than there are keys masks the others.
  Value* WithAllKeys(Value* mask) {
    if (node_->opset() < 24 || b_.RankOf(mask) == 0) return mask;
    const SymInt columns = b_.Dim(mask, -1);
    if (!HasPast() && columns == Positions(kK)) return mask;
    mask = BroadcastSource(mask, context_.facts, [&](const std::vector<SymInt>& dims) {
      return BroadcastsTo(dims, *b_.Of(mask).dims) && !dims.empty() && dims.back() == columns;
    });
    mask = WithoutRepeats(patch_, mask, {-3, -2});
    const int axis = b_.RankOf(mask) - 1;
    Value* missing = b_.Op("Sub", {b_.ExtentOf(k_, KeysAxis()), b_.ExtentOf(mask, axis)});
    missing = b_.Unsqueeze(b_.Op("Max", {missing, b_.Number(DataType::kInt64, 0)}), {0});
    Value* ends = b_.Op("Concat", {b_.Ints({0}), missing}, {{"axis", int64_t{0}}});
    const DataType type = b_.TypeOf(mask);
    Value* masked = type == DataType::kBool
                        ? nullptr
                        : b_.Number(type, -std::numeric_limits<double>::infinity());
    return b_.Op("Pad", {mask, ends, masked, b_.Ints({axis})});
  }

  // Masks the keys from nonpad_kv_seqlen on. Query s then stands at position nonpad_kv_seqlen - S +
  // s, which no attribute can say.
  void MaskByCount() {
    Value* key = b_.Range(b_.ExtentOf(k_, KeysAxis()));
    Value* count = b_.Unsqueeze(b_.input(kValidKeys), {1, 2, 3});
    AddToMask(b_.Op("Less", {key, count}));
    if (!Positional()) return;
    Value* queries = b_.ExtentOf(q_, PositionsAxis());
    Value* first = b_.Op("Sub", {count, queries});
    Value* position = b_.Op("Add", {first, b_.Unsqueeze(b_.Range(queries), {1})});
    if (Causal()) AddToMask(b_.Op("LessOrEqual", {key, position}));
    // No position is beyond this limit, so a wider window masks nothing.
    constexpr int64_t kWidest = int64_t{1} << 48;
    const auto bound = [&](const char* op, int64_t window) {
      return b_.Op(op, {position, b_.Ints({std::min(window, kWidest)})});
    };
    if (const int64_t left = Window("left"); left >= 0) {
      AddToMask(b_.Op("GreaterOrEqual", {key, bound("Sub", left)}));
    }
    if (const int64_t right = Window("right"); right >= 0) {
      AddToMask(b_.Op("LessOrEqual", {key, bound("Add", right)}));
    }
  }

  void AddToMask(Value* unmasked) {
    mask_ = mask_ == nullptr ? unmasked : b_.Op("And", {mask_, unmasked});
  }

  static std::string Layout(bool by_head, int64_t heads) {
    return by_head ? "b n s h" : absl::StrCat("b s (n:", heads, " h)");
  }

  AttributeMap Attributes() const {
    AttributeMap attributes;
    attributes["q_layout"] = Layout(!merged_, heads_);
    attributes["k_layout"] = Layout(keys_by_head_, kv_heads_);
    attributes["v_layout"] = Layout(keys_by_head_, kv_heads_);
    const double scale = 1 / std::sqrt(static_cast<double>(std::max<int64_t>(head_size_, 1)));
    attributes["scale"] = AttributeOr(*node_, "scale", static_cast<float>(scale));
    if (const AttributeValue* softcap = node_->attribute("softcap")) {
      attributes["softcap"] = *softcap;
    }
    attributes["masked_row"] = std::string("zero");
    if (b_.input(kValidKeys) != nullptr) return attributes;
    // With a past, query s stands at position s + T - S.
    if (Causal()) attributes["causal"] = int64_t{HasPast() ? 2 : 1};
    if (Window("left") >= 0) attributes["left_window"] = Window("left");
    if (Window("right") >= 0) attributes["right_window"] = Window("right");
    return attributes;
  }

  RuleContext& context_;
  Node* const node_;
  Patch& patch_;
  PatchedBody b_;
  Value* q_ = b_.input(kQ);
  Value* k_ = b_.input(kK);
  Value* v_ = b_.input(kV);
  Value* bias_ = nullptr;
  Value* mask_ = nullptr;
  // True if Q, K and V have their heads in a row, [B, S, N * H]; false if they are [B, N, S, H].
  bool merged_ = false;
  bool keys_by_head_ = false;
  // The numbers of heads, unless they are axes, and their sizes, 0 if they are not known.
  int64_t heads_ = 0;
  int64_t kv_heads_ = 0;
  int64_t head_size_ = 0;
  int64_t value_size_ = 0;
};

bool ConvertStandardAttention(RuleContext& context, Node* node, Patch& patch) {
  return StandardAttention(context, node, patch).Propose();
}

}  // namespace

extern const Rule kStandardAttention = {
    .name = "standard_attention",
    .summary = "The standard's Attention becomes attnrun.Attention",
    .anchors = {"Attention"},
    .propose = ConvertStandardAttention};

}  // namespace attnrun::opt
