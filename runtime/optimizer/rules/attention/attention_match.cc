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

// Axes of the scores [B, N, S, T].
constexpr int kQueries = 2;
constexpr int kKeys = 3;

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
      if (scores.has_value() && IsPartOfRow(*scores)) why = "the keys lie on more than one axis";
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

  // True if the Softmax runs over a part of the rows or columns of the scores' product.
  bool IsPartOfRow(const Scores& scores) const {
    const View product = View::Dense(scores.matmul_dims);
    return scores.view.axes()[axis_] != product.axes()[scores.keys_axis];
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
    return FindProduct() && FindAxes() && FindHeadsOfOperands() && CheckTypes();
  }

  // Takes the extents of the product with V.
  bool FindProduct() {
    const Node& product = *match_.probabilities.product;
    const std::vector<SymInt>* dims = facts_.DimsOf(product.output(0));
    if (dims == nullptr) {
      return Miss(absl::StrCat("the extents of ", product.description(), " are not known"));
    }
    if (static_cast<int>(dims->size()) != match_.probabilities.view.rank()) {
      return Miss(absl::StrCat(product.description(), " has axes that the scores lack"));
    }
    match_.product_dims = *dims;
    const SymInt& channels = (*dims)[match_.probabilities.channels_axis()];
    return channels.constant().value_or(0) >= 1 ||
           Miss(
               absl::StrCat("the size of the heads of V, ", channels.ToString(), ", is not fixed"));
  }

  // Tells samples, heads, queries and keys apart.
  bool FindAxes() {
    const std::string product = match_.scores.matmul->description();
    auto axes = FindHeadAxes(match_.scores, match_.probabilities, facts_);
    if (!axes.has_value()) {
      return Miss(absl::StrCat("the axes of ", product,
                               " cannot be told apart as samples, heads, queries and keys"));
    }
    match_.axes = *std::move(axes);
    return match_.axes.heads.constant().has_value() ||
           Miss(absl::StrCat("the number of heads of ", product, ", ", match_.axes.heads.ToString(),
                             ", is not fixed"));
  }

  // The map from the axes of a product's operand to samples, heads and `rows`, which is the axis of
  // the queries or of the keys in [B, N, S, T]. The operand has the axes of `view` without `other`.
  std::optional<AxisMap> MapOf(const View& view, int other, int rows) const {
    return AxisMap::Between(AxesWithout(view, other), AxesWithout(match_.axes.view, 5 - rows));
  }

  std::optional<HeadOperand> FindQ() const {
    const Scores& scores = match_.scores;
    const auto axes = MapOf(View::Dense(scores.matmul_dims), scores.keys_axis, kQueries);
    if (!axes.has_value()) return std::nullopt;
    return FindHeads(scores.q(), HeadRole::kQuery, scores.keys_are_rows(), *axes, facts_);
  }

  std::optional<HeadOperand> FindK(SharedHeads shared) const {
    const Scores& scores = match_.scores;
    const auto axes = MapOf(View::Dense(scores.matmul_dims), scores.queries_axis(), kKeys);
    if (!axes.has_value()) return std::nullopt;
    return FindHeads(scores.k(), HeadRole::kKey, !scores.keys_are_rows(), *axes, facts_, shared);
  }

  std::optional<HeadOperand> FindV(SharedHeads shared) const {
    const Probabilities& probabilities = match_.probabilities;
    const auto axes = MapOf(probabilities.view, probabilities.queries_axis(), kKeys);
    if (!axes.has_value()) return std::nullopt;
    return FindHeads(probabilities.values_operand(), HeadRole::kValue, probabilities.side == 1,
                     *axes, facts_, shared);
  }

  bool FindHeadsOfOperands() {
    const auto q = FindQ();
    auto k = FindK(SharedHeads::kOnce);
    auto v = FindV(SharedHeads::kOnce);
    // K and V must agree on how often shared heads count: once each, or once for each head of Q.
    // One head that serves all is left out of the layout and agrees with any number.
    if (k.has_value() && v.has_value() && k->heads != v->heads && !k->heads.is_constant(1) &&
        !v->heads.is_constant(1)) {
      k = FindK(SharedHeads::kRepeated);
      v = FindV(SharedHeads::kRepeated);
    }
    const char* lacking = !q.has_value() ? "Q" : !k.has_value() ? "K" : "V";
    if (!q.has_value() || !k.has_value() || !v.has_value()) {
      return Miss(absl::StrCat("the heads of ", lacking,
                               " are not laid out as samples, heads, positions and channels"));
    }
    const SymInt& heads = match_.axes.heads;
    if (q->heads != heads && k->heads != heads && v->heads != heads) {
      return Miss(absl::StrCat("none of Q, K and V has all ", heads.ToString(), " heads"));
    }
    if (!match_.axes.batch.is_constant(1) && !HasRole({q->layout, k->layout, v->layout}, 'b')) {
      return Miss("Q, K and V are the same for all samples");
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
