// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/attention/attention_match.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/quote.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/product_search.h"
#include "optimizer/rules/attention/head_views.h"

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
    const Node& reader = *ReaderBehindViews(*value);
    if (ops::TraitsOf(reader).rescales) {
      return Miss(absl::StrCat("behind the Softmax, ", reader.description(),
                               " rounds the probabilities to integers"));
    }
    if (!why.empty()) return Miss(why);
    if (map != nullptr) {
      return Miss(absl::StrCat("after the Softmax stands ", map->description(),
                               ", a linear map over heads"));
    }
    if (ops::TraitsOf(reader).multiplies) {
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
    if (rank < 0 && LeadsToProduct(softmax_.output(0))) {
      return Miss(absl::StrCat("the number of axes of ", Quoted(softmax_.input(0)->name()),
                               " is not known"));
    }
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

  // Each of samples and heads is an axis of Q or of K, since the product has it.
  bool FindHeadsOfOperands() {
    const Scores& scores = match_.scores;
    const Probabilities& probabilities = match_.probabilities;
    const View product = View::Dense(scores.matmul_dims);
    const View& operand = probabilities.view;
    return FindHeads(0, scores.q(), scores.keys_are_rows(),
                     AxesWithout(product, scores.keys_axis)) &&
           FindHeads(1, scores.k(), !scores.keys_are_rows(),
                     AxesWithout(product, scores.queries_axis())) &&
           FindHeads(2, probabilities.values_operand(), probabilities.side == 1,
                     AxesWithout(operand, probabilities.queries_axis()));
  }

  // Finds how Q, K or V, an operand with these axes and its channels, becomes heads.
  bool FindHeads(int operand, Value* value, bool transposed, const std::vector<ViewAxis>& axes) {
    const int other = operand == 0 ? kKeys : kQueries;
    const auto map = AxisMap::Between(axes, AxesWithout(match_.axes.view, other));
    const std::vector<SymInt>* known = facts_.DimsOf(value);
    std::vector<SymInt> of_value = *known;
    if (transposed) std::iter_swap(of_value.end() - 1, of_value.end() - 2);
    const auto dims = map.has_value() ? map->Extents(of_value, 1) : std::nullopt;
    auto layout = dims.has_value() ? LayoutOf(View::Dense(*dims).Transposed({0, 2, 1, 3}), *dims)
                                   : std::nullopt;
    if (!layout.has_value()) {
      return Miss(absl::StrCat("the heads of ", absl::string_view("QKV").substr(operand, 1),
                               " are not laid out as samples, heads, positions and channels"));
    }
    match_.operands[operand] = {value, transposed, *map, *std::move(layout)};
    return true;
  }

  // All operands get the type of the result; narrower ones are widened, which is exact.
  bool CheckTypes() {
    const DataType type = facts_.TypeOf(match_.probabilities.product->output(0));
    bool fits = type != DataType::kUndefined;
    for (const HeadOperand& operand : match_.operands) {
      const DataType from = facts_.TypeOf(operand.value);
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
