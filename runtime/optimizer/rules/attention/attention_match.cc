// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/attention/attention_match.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/product_search.h"
#include "optimizer/rewrite/axis_map.h"

namespace attnrun::opt {
namespace {

class AttentionMatcher {
 public:
  AttentionMatcher(const Node& softmax, Facts& facts, std::string& why)
      : softmax_(softmax), facts_(facts), why_(why) {}

  std::optional<AttentionMatch> Match() {
    return Recognize() ? std::optional(std::move(match_)) : std::nullopt;
  }

 private:
  bool Recognize() {
    if (!FindAxis()) return false;
    std::string why;
    auto scores = FindScores(softmax_.input(0), axis_, facts_, why);
    match_.probabilities =
        FollowProbabilities(softmax_, axis_, scores.has_value() ? &*scores : nullptr, facts_);
    if (match_.probabilities.product == nullptr) {
      if (scores.has_value() && scores->sinks.has_value()) why = NotCutOff(*scores->sinks);
      return NoProduct(why);
    }
    if (!scores.has_value()) return Miss(why);
    match_.scores = *std::move(scores);
    if (match_.probabilities.closes_masked) {
      match_.scores.mask_value = -std::numeric_limits<double>::infinity();
    }
    return FindOperands();
  }

  bool Miss(std::string why) {
    why_ = std::move(why);
    return false;
  }

  // Tells of the missing scores, but not for a Softmax that leads to no product, as a classifier's.
  bool NoProduct(const std::string& why) {
    const Value* value = softmax_.output(0);
    const Node* map = LinearMapBehind(*value);
    if (map == nullptr && !LeadsToProduct(value)) return false;
    if (!why.empty()) return Miss(why);
    if (map != nullptr) {
      return Miss(absl::StrCat("after the Softmax stands ", map->description(),
                               ", a linear map over heads"));
    }
    const Node& reader = *ReaderBehindViews(*value);
    if (IsOp(&reader, "MatMul")) {
      return Miss(absl::StrCat("the Softmax runs over another axis than the keys, which ",
                               reader.description(), " sums over"));
    }
    return Miss(absl::StrCat("after the Softmax stands ", reader.description()));
  }

  std::string NotCutOff(const Sinks& sinks) const {
    return absl::StrCat("the column that ", sinks.nodes.back()->description(),
                        " puts beside the scores is not cut off behind the Softmax");
  }

  bool FindAxis() {
    const int rank = facts_.RankOf(softmax_.input(0));
    // Before opset 13 the Softmax is over all axes from `axis` on.
    const bool over_rest = softmax_.opset() < 13;
    const int64_t axis = AttributeOr<int64_t>(softmax_, "axis", over_rest ? 1 : -1);
    if (rank < 2 || axis < -rank || axis >= rank) return false;
    axis_ = static_cast<int>(axis < 0 ? axis + rank : axis);
    if (!over_rest || axis_ == rank - 1) return true;
    if (LeadsToProduct(softmax_.output(0))) {
      return Miss(absl::StrCat("the Softmax runs over several axes, from ", axis_, " on"));
    }
    return false;
  }

  // Finds Q, K and V as heads.
  bool FindOperands() {
    const Node& product = *match_.probabilities.product;
    const std::vector<SymInt>* product_dims = facts_.DimsOf(product.output(0));
    if (product_dims == nullptr ||
        static_cast<int>(product_dims->size()) != match_.probabilities.view.rank()) {
      Miss(absl::StrCat("the extents of ", product.description(), " are not known"));
    }
    match_.product_dims = *product_dims;
    const SymInt& channels = match_.product_dims[match_.probabilities.channels_axis()];
    if (channels.constant().value_or(0) < 1) {
      return Miss(
          absl::StrCat("the size of the heads of V, ", channels.ToString(), ", is not fixed"));
    }
    auto axes = FindHeadAxes(match_.scores, match_.probabilities, facts_);
    if (!axes.has_value()) {
      return Miss(absl::StrCat("the axes of ", match_.scores.matmul->description(),
                               " cannot be told apart as samples, heads, queries and keys"));
    }
    match_.axes = *std::move(axes);
    if (!match_.axes.heads.constant().has_value()) {
      return Miss(absl::StrCat("the number of heads of ", match_.scores.matmul->description(), ", ",
                               match_.axes.heads.ToString(), ", is not fixed"));
    }
    return FindHeadsOfOperands() && CheckTypes();
  }

  // The map from the axes of a product's operand to samples, heads and `rows`, which is the axis of
  // the queries or of the keys in [B, N, S, T]. The operand has the axes of `view` without `other`.
  std::optional<AxisMap> MapOf(const View& view, int other, int rows) const {
    return AxisMap::Between(AxesWithout(view, other), AxesWithout(match_.axes.view, 5 - rows));
  }

  bool FindHeadsOfOperands() {
    constexpr int kQueries = 2;
    constexpr int kKeys = 3;
    const View product = View::Dense(match_.scores.matmul_dims);
    const auto q_axes = MapOf(product, match_.scores.keys_axis, kQueries);
    const auto k_axes = MapOf(product, match_.scores.queries_axis(), kKeys);
    const auto v_axes =
        MapOf(match_.probabilities.view, match_.probabilities.queries_axis(), kKeys);
    const auto find = [&](const std::optional<AxisMap>& axes, Value* value, HeadRole role,
                          bool transposed, SharedHeads shared) {
      return axes.has_value() ? FindHeads(value, role, transposed, *axes, facts_, shared)
                              : std::nullopt;
    };
    const bool by_key = match_.scores.keys_are_rows();
    const auto q = find(q_axes, match_.scores.q(), HeadRole::kQuery, by_key, SharedHeads::kOnce);
    const auto find_k = [&](SharedHeads shared) {
      return find(k_axes, match_.scores.k(), HeadRole::kKey, !by_key, shared);
    };
    const auto find_v = [&](SharedHeads shared) {
      return find(v_axes, match_.probabilities.values_operand(), HeadRole::kValue,
                  match_.probabilities.side == 1, shared);
    };
    auto k = find_k(SharedHeads::kOnce);
    auto v = find_v(SharedHeads::kOnce);
    // K and V must agree on how often shared heads count: once each, or once for each head of Q.
    // One head that serves all is left out of the layout and agrees with any number.
    const auto agree = [](const HeadOperand& a, const HeadOperand& b) {
      return a.heads == b.heads || a.heads.is_constant(1) || b.heads.is_constant(1);
    };
    if (k.has_value() && v.has_value() && !agree(*k, *v)) {
      k = find_k(SharedHeads::kRepeated);
      v = find_v(SharedHeads::kRepeated);
    }
    if (!q.has_value() || !k.has_value() || !v.has_value()) {
      return Miss(absl::StrCat("the heads of ", !q.has_value() ? "Q" : (!k.has_value() ? "K" : "V"),
                               " are not laid out as samples, heads, positions and channels"));
    }
    if (q->heads != match_.axes.heads && k->heads != match_.axes.heads &&
        v->heads != match_.axes.heads) {
      return Miss(
          absl::StrCat("none of Q, K and V has all ", match_.axes.heads.ToString(), " heads"));
    }
    match_.q = *q;
    match_.k = *k;
    match_.v = *v;
    return true;
  }

  // All operands get the type of the result; narrower ones are widened, which is exact.
  bool CheckTypes() {
    const DataType type = facts_.TypeOf(match_.probabilities.product->output(0));
    bool fits = type != DataType::kUndefined;
    for (const HeadOperand* operand : {&match_.q, &match_.k, &match_.v}) {
      const DataType from = facts_.TypeOf(operand->value);
      fits = fits && (from == type || (type == DataType::kFloat && (from == DataType::kFloat16 ||
                                                                    from == DataType::kBfloat16)));
    }
    return fits || Miss("the element types of Q, K, V and the result differ");
  }

  const Node& softmax_;
  Facts& facts_;
  std::string& why_;
  int axis_ = 0;
  AttentionMatch match_;
};

}  // namespace

std::optional<AttentionMatch> MatchAttention(const Node& softmax, Facts& facts, std::string& why) {
  return AttentionMatcher(softmax, facts, why).Match();
}

}  // namespace attnrun::opt
