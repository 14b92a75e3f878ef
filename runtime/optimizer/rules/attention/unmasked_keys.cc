// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/attention/unmasked_keys.h"

#include <optional>

#include "absl/algorithm/container.h"
#include "optimizer/analysis/broadcasting.h"
#include "optimizer/analysis/conditions.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/positions.h"

namespace attnrun::opt {
namespace {

// Exporters write fewer parts.
constexpr int kMaxParts = 64;

class MaskReader {
 public:
  MaskReader(const std::vector<SymInt>& scores, Facts& facts)
      : scores_(scores), queries_(scores[2]), keys_(scores[3]), facts_(facts) {}

  void Split(Condition condition) {
    const std::vector<SymInt>* dims = facts_.DimsOf(condition.value);
    if (dims == nullptr || !BroadcastsTo(*dims, scores_)) return Keep(condition);
    // The condition's parts broadcast to the scores' extents, so a part may be left out.
    SplitWithin(condition);
  }

  UnmaskedKeys Result(bool positions) {
    UnmaskedKeys keys;
    if (positions) TakePositions(keys);
    keys.rest = conditions_;
    keys.simpler = simpler_;
    return keys;
  }

 private:
  void Keep(Condition condition) {
    const bool known = absl::c_any_of(conditions_, [&](const Condition& other) {
      return other.value == condition.value && other.negated == condition.negated;
    });
    if (!known) conditions_.push_back(condition);
    simpler_ = simpler_ || known;
  }

  void SplitWithin(Condition condition) {
    const auto fits = [&](const std::vector<SymInt>& dims) { return BroadcastsTo(dims, scores_); };
    Value* source = BroadcastSource(condition.value, facts_, fits);
    const bool holds = KnownCondition(source, facts_) == !condition.negated;
    simpler_ = simpler_ || holds || source != condition.value;
    if (holds) return;
    condition.value = source;
    const Node* node = condition.value->producer();
    if (++parts_ > kMaxParts || node == nullptr) return Keep(condition);
    if (IsOp(node, "Not")) return SplitWithin({node->input(0), !condition.negated});
    // Not (a or b) is (not a) and (not b).
    if (!IsOp(node, condition.negated ? "Or" : "And")) return Keep(condition);
    SplitWithin({node->input(0), condition.negated});
    SplitWithin({node->input(1), condition.negated});
  }

  // A bound on the key's position t: t <= s + distance, or t >= s - distance.
  struct Bound {
    bool upper = false;
    SymInt distance;
  };

  std::optional<Bound> AsBound(const Condition& condition) {
    auto margin = MarginOf(condition.value, facts_);
    if (!margin.has_value()) return std::nullopt;
    if (!condition.negated) return AsBound(*margin, margin->offset());
    return AsBound(margin->Scaled(-1), SymInt(-1) - margin->offset());
  }

  // The bound that holds exactly where the places of `margin`, taken from `offset`, are at least 0.
  std::optional<Bound> AsBound(const View& margin, const SymInt& offset) {
    const int rank = margin.rank();
    if (rank < 2) return std::nullopt;
    for (int i = 0; i < rank - 2; ++i) {
      if (StepAlong(margin, i, margin.Extent(i)) != 0) return std::nullopt;
    }
    const auto along_keys = StepAlong(margin, rank - 1, keys_);
    auto along_queries = StepAlong(margin, rank - 2, queries_);
    if (!along_keys.has_value() || (*along_keys != 1 && *along_keys != -1)) return std::nullopt;
    // A single query stands at position 0.
    if (queries_.is_constant(1)) along_queries = -*along_keys;
    if (along_queries != -*along_keys) return std::nullopt;
    return Bound{*along_keys == -1, offset};
  }

  // The difference that one step along an axis of `extent` makes; nullopt if that is no fixed
  // number.
  static std::optional<int64_t> StepAlong(const View& view, int axis, const SymInt& extent) {
    const ViewAxis& steps = view.axes()[axis];
    if (steps.empty()) return 0;
    if (steps.size() > 1) return std::nullopt;
    if (steps[0].stride.is_constant(0)) return 0;
    return steps[0].size == extent ? steps[0].stride.constant() : std::nullopt;
  }

  // The window w if the condition is |t - s| <= w.
  std::optional<int64_t> AsBand(const Condition& condition) {
    const Node* node = condition.value->producer();
    if (condition.negated || node == nullptr || !node->domain().empty()) return std::nullopt;
    const std::string& op = node->op_type();
    const bool less = op == "Less" || op == "LessOrEqual";
    if (!less && op != "Greater" && op != "GreaterOrEqual") return std::nullopt;
    const Node* abs = node->input(less ? 0 : 1)->producer();
    const auto limit = KnownInt(node->input(less ? 1 : 0), facts_);
    if (!IsOp(abs, "Abs") || !limit.has_value()) return std::nullopt;
    const auto distance = PositionsOf(abs->input(0), facts_);
    if (!distance.has_value()) return std::nullopt;
    const auto bound = AsBound(*distance, distance->offset());
    if (!bound.has_value() || !bound->distance.is_constant(0)) return std::nullopt;
    const int64_t window = *limit - (op == "Less" || op == "Greater" ? 1 : 0);
    return window >= 0 ? std::optional<int64_t>(window) : std::nullopt;
  }

  // Takes a band around the query, unless another condition moves it.
  bool TakeBand(const Condition& condition, UnmaskedKeys& keys) {
    const auto window = AsBand(condition);
    if (!window.has_value() || keys.right_window >= 0 || keys.left_window >= 0) return false;
    if (keys.causal == 2) return false;
    keys.left_window = *window;
    keys.right_window = *window;
    return true;
  }

  void TakePositions(UnmaskedKeys& keys) {
    // Upper bounds come first: they decide at which key's position a query stands.
    Take([&](const Condition& condition) {
      const auto bound = AsBound(condition);
      return bound.has_value() && bound->upper && TakeUpper(bound->distance, keys);
    });
    const SymInt position = keys.causal == 2 ? keys_ - queries_ : SymInt(0);
    Take([&](const Condition& condition) {
      const auto bound = AsBound(condition);
      if (!bound.has_value() || bound->upper || keys.left_window >= 0) return false;
      const auto window = (bound->distance + position).constant();
      if (window.value_or(-1) < 0) return false;
      keys.left_window = *window;
      return true;
    });
    Take([&](const Condition& condition) { return TakeBand(condition, keys); });
  }

  bool TakeUpper(const SymInt& distance, UnmaskedKeys& keys) const {
    if (keys.causal != 0 || keys.right_window >= 0) return false;
    if (distance.is_constant(0)) {
      keys.causal = 1;
    } else if (distance == keys_ - queries_) {
      keys.causal = 2;
    } else if (distance.constant().value_or(-1) > 0) {
      keys.right_window = *distance.constant();
    } else {
      return false;
    }
    return true;
  }

  template <typename Function>
  void Take(Function take) {
    std::erase_if(conditions_, [&](const Condition& condition) {
      const bool taken = take(condition);
      simpler_ = simpler_ || taken;
      return taken;
    });
  }

  const std::vector<SymInt>& scores_;
  const SymInt queries_;
  const SymInt keys_;
  Facts& facts_;
  std::vector<Condition> conditions_;
  bool simpler_ = false;
  int parts_ = 0;
};

}  // namespace

UnmaskedKeys ReadMask(const std::vector<Condition>& all, const std::vector<SymInt>& scores,
                      bool positions, Facts& facts) {
  MaskReader reader(scores, facts);
  for (const Condition& condition : all) reader.Split(condition);
  return reader.Result(positions);
}

Value* AllOf(Patch& patch, const std::vector<Condition>& conditions) {
  Value* all = nullptr;
  for (const Condition& condition : conditions) {
    Value* value = condition.negated ? patch.Op("Not", {condition.value}) : condition.value;
    all = all == nullptr ? value : patch.Op("And", {all, value});
  }
  return all;
}

}  // namespace attnrun::opt
