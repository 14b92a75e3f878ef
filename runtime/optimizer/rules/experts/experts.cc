// SPDX-License-Identifier: Apache-2.0

// A mixture of experts, as PyTorch's exporters write it: every expert works on the tokens that
// chose it, which are gathered, and its results, times their weights, are added to the rows of
// these tokens. The sum of all becomes one operator:
//
//   router [T, E]                                    router
//      |                                               |
//     TopK -- weights, numbers [T, k]                 TopK
//                  |                                  |  |
//   for each expert e:                           x    |  |    the layers of all experts
//     NonZero(numbers == e) -> tokens             \   |  |   /
//     x -> Gather tokens -> layers        ->      attnrun.Experts
//       -> Mul weights at (tokens, place)                |
//     ScatterElements or ScatterND, adding               y
//                  |
//           0 + ... + ... = y
//
// Other exporters let every expert work on all tokens and give the weight 0 to those that did not
// choose it. The operator leaves out products of finite numbers with 0:
//
//   for each expert e: x -> layers -> Mul (ReduceSum (weights * (numbers == e)))

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/hash_map.h"
#include "graph/attribute_key.h"
#include "optimizer/analysis/broadcasting.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/reshape.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/experts/expert_layers.h"
#include "optimizer/rules/experts/expert_routes.h"

namespace attnrun::opt {
namespace {

constexpr int kMaxExperts = 1024;

// The share of one expert in the sum.
struct Term {
  ExpertMatch expert;
  ExpertTokens tokens;
  Value* x = nullptr;
  RouteWeights weights;
};

// True if the node puts rows into its first input.
bool ScattersRows(const Node* node) {
  return IsOp(node, "ScatterND") ||
         (IsOp(node, "ScatterElements") && AttributeOr<int64_t>(*node, "axis", 0) == 0);
}
bool Adds(const Node& scatter) {
  return AttributeOr<std::string>(scatter, "reduction", "none") == "add";
}
bool AddsRows(const Node* node) {
  return ScattersRows(node) && (Adds(*node) || SetsInZeros(*node));
}
bool AddsRows(const Value* value) { return AddsRows(value->producer()); }

// The weights that all rows of an expert are multiplied by, which `value` is then; null if it is
// something else. Cheap: says nothing about the rest.
const Value* WeightedBy(const Value* value) {
  for (const auto& [rows, weights] : ScalingsOf(ProducerOf(value, "Mul"))) {
    if (IsOp(weights->producer(), "ReduceSum")) return weights;
  }
  return nullptr;
}

bool IsTerm(const Value* value) { return AddsRows(value) || WeightedBy(value) != nullptr; }

class ExpertSum {
 public:
  ExpertSum(RuleContext& context, Node* first) : context_(context), facts_(context.facts) {
    FindSum(first);
  }

  bool Propose(Patch& patch) {
    if (!Collect(sum_) || terms_.empty()) return Miss();
    const Term& first = terms_[0];
    std::vector<SymInt> rows = *facts_.DimsOf(first.tokens.numbers);
    const auto size = facts_.Extent(first.x, -1);
    if (size.has_value() && !rows.empty()) rows.back() = *size;
    const std::vector<SymInt>* dims = facts_.DimsOf(sum_);
    if (dims == nullptr || !size.has_value() || *dims != rows) {
      return Miss("the sum has other rows than the numbers of experts");
    }
    const auto count = static_cast<int64_t>(terms_.size());
    for (int64_t number = 0; number < count; ++number) {
      if (TermOf(number) == nullptr) return Miss("its experts are not numbered from 0 on");
    }
    if (!AreBelow(first.tokens.numbers, count, facts_)) return Miss(kNumbersBeyond);
    if (distinct_ && !AreDistinct(first.tokens.numbers, facts_)) return Miss(kChosenTwice);
    patch.Supersede(nodes_);
    Value* x = ReshapeTo(patch, first.x, *dims);
    if (x == nullptr) return Miss("the rows of its input are not known");
    std::vector<Value*> inputs = {x, first.tokens.numbers, Weights(patch)};
    for (int64_t number = 0; number < count; ++number) {
      AppendLayers(patch, TermOf(number)->expert, std::nullopt, inputs);
    }
    while (inputs.back() == nullptr) inputs.pop_back();
    return patch.Replace(sum_, patch.Op("attnrun::Experts", inputs, first.expert.attributes,
                                        sum_->producer()->name()));
  }

 private:
  // Follows the sum down to its last term.
  void FindSum(const Node* node) {
    sum_ = node->output(0);
    for (int i = 0; i < 2 * kMaxExperts; ++i) {
      Node* reader = OnlyReader(context_.graph, sum_);
      if (reader == nullptr) return;
      const Value* other = OtherOperand(*reader, sum_);
      const bool adds = IsOp(reader, "Add") && (IsZero(other) || IsTerm(other));
      if (!adds && !(AddsRows(reader) && reader->input(0) == sum_)) return;
      sum_ = reader->output(0);
    }
  }

  // Finds the terms of a sum; false if something else is added.
  bool Collect(Value* sum) {
    nodes_.clear();
    while (true) {
      Node* node = sum->producer();
      if (IsZero(sum)) return true;
      if (node == nullptr || terms_.size() > kMaxExperts) return false;
      if (sum != sum_ && OnlyReader(context_.graph, sum) == nullptr) return false;
      nodes_.push_back(node);
      if (WeightedBy(sum) != nullptr) return AddTerm(MatchAllRows(*node));
      Value* rest = node->input(0);
      if (IsOp(node, "Add")) {
        const int side = IsTerm(node->input(1)) || IsZero(node->input(1)) ? 1 : 0;
        rest = node->input(1 - side);
        if (!AddPart(node->input(side))) return false;
      } else if (!AddsRows(node) || !AddTerm(MatchTerm(*node))) {
        return false;
      }
      sum = rest;
    }
  }

  bool AddPart(Value* value) {
    if (IsZero(value)) return true;
    Node* node = value->producer();
    if (!IsTerm(value) || OnlyReader(context_.graph, value) == nullptr) return false;
    nodes_.push_back(node);
    if (WeightedBy(value) != nullptr) return AddTerm(MatchAllRows(*node));
    return IsZero(node->input(0)) && AddTerm(MatchTerm(*node));
  }

  bool AddTerm(std::optional<Term> term) {
    if (!term.has_value()) return false;
    if (!numbers_.insert(term->tokens.expert).second) {
      why_ = absl::StrCat("expert ", term->tokens.expert, " is added twice");
      return false;
    }
    if (!terms_.empty() && !AgreesWithFirst(*term)) {
      why_ = absl::StrCat("expert ", term->tokens.expert, " differs from the others");
      return false;
    }
    terms_.push_back(*std::move(term));
    return true;
  }

  bool AgreesWithFirst(const Term& term) const {
    const Term& first = terms_[0];
    if (term.x != first.x || term.tokens.numbers != first.tokens.numbers ||
        term.weights.matrix != first.weights.matrix ||
        term.weights.by_expert != first.weights.by_expert) {
      return false;
    }
    std::string attributes;
    std::string attributes_of_first;
    if (!AppendKey(term.expert.attributes, attributes) ||
        !AppendKey(first.expert.attributes, attributes_of_first) ||
        attributes != attributes_of_first) {
      return false;
    }
    for (size_t i = 0; i < term.expert.layers.size(); ++i) {
      const ExpertLayerMatch& own = term.expert.layers[i];
      const ExpertLayerMatch& other = first.expert.layers[i];
      if (own.weight.defined() != other.weight.defined() ||
          own.bias.defined() != other.bias.defined() ||
          (own.weight.defined() && own.weight.shape() != other.weight.shape())) {
        return false;
      }
    }
    return true;
  }

  std::optional<Term> MatchTerm(const Node& scatter) {
    Term term;
    const bool elements = IsOp(&scatter, "ScatterElements");
    Value* places = scatter.input(1);
    if (elements) places = Repeated(places);
    const auto row = places == nullptr ? std::nullopt : PlaceRowOf(places, facts_);
    if (!row.has_value() || facts_.RankOf(places) != 2 || facts_.Extent(places, -1) != 1) {
      return std::nullopt;
    }
    auto tokens = TokensOf(*row->places, facts_);
    if (!tokens.has_value() || tokens->token_row != row->row) return std::nullopt;
    if (!Adds(scatter)) distinct_ = true;
    term.tokens = *tokens;
    why_ = absl::StrCat("the layers of expert ", tokens->expert, " are of another form");
    Value* added = elements ? WithoutExpand(scatter.input(2)) : scatter.input(2);
    for (const auto& [rows, factor] : ReadingsOf(ProducerOf(SameRows(added, facts_), "Mul"))) {
      auto expert = MatchExpert(rows, facts_);
      if (!expert.has_value()) continue;
      term.x = GatheredFrom(expert->rows, term.tokens, facts_);
      const auto weights =
          facts_.Extent(factor, -1) == 1 ? WeightsOf(factor, term.tokens, facts_) : std::nullopt;
      if (term.x == nullptr || !weights.has_value()) {
        why_ = absl::StrCat(term.x == nullptr ? "the rows" : "the weights", " of expert ",
                            tokens->expert, " are not those of its tokens");
        return std::nullopt;
      }
      term.weights = *weights;
      term.expert = *std::move(expert);
      why_.clear();
      return term;
    }
    return std::nullopt;
  }

  // An expert that works on all rows.
  std::optional<Term> MatchAllRows(const Node& product) {
    for (const auto& [rows, weights] : ScalingsOf(&product)) {
      const auto weight = WeightOfExpertIn(weights, facts_);
      if (!weight.has_value()) continue;
      auto expert = MatchExpert(rows, facts_);
      if (!expert.has_value()) {
        why_ = absl::StrCat("the layers of expert ", weight->expert, " are of another form");
        return std::nullopt;
      }
      Term term;
      term.x = expert->rows;
      term.expert = *std::move(expert);
      term.tokens.numbers = weight->numbers;
      term.tokens.expert = weight->expert;
      term.weights.matrix = weight->matrix;
      return term;
    }
    return std::nullopt;
  }

  // One index for each row, before an Expand that repeats it for all columns; null if the indices
  // are something else.
  Value* Repeated(Value* indices) {
    const Node* expand = ProducerOf(indices, "Expand");
    return expand == nullptr ? nullptr : expand->input(0);
  }

  // PyTorch expands what it adds to the first row of the sum, which changes nothing: its extents
  // are those of a row, or of none if there are none.
  Value* WithoutExpand(Value* added) {
    const Node* expand = ProducerOf(added, "Expand");
    const auto* dims = facts_.DimsOf(sum_);
    if (expand == nullptr || dims == nullptr) return added;
    const auto& target = facts_.Of(expand->input(1)).contents;
    if (!target.has_value() || target->size() != 2 || (*target)[0] == (*dims)[0] ||
        !BroadcastsTo(*target, *dims)) {
      return added;
    }
    return expand->input(0);
  }

  const Term* TermOf(int64_t number) const {
    for (const Term& term : terms_) {
      if (term.tokens.expert == number) return &term;
    }
    return nullptr;
  }

  Value* Weights(Patch& patch) const {
    const RouteWeights& weights = terms_[0].weights;
    Value* numbers = terms_[0].tokens.numbers;
    if (!weights.by_expert) return weights.matrix;
    const auto row = RowOfWeights(weights.matrix, facts_);
    if (row.has_value() && row->numbers == numbers && AreDistinct(numbers, facts_)) {
      return row->weights;
    }
    return patch.Op("GatherElements", {weights.matrix, numbers}, {{"axis", int64_t{1}}});
  }

  bool Miss(std::string why = "") {
    if (!why.empty()) why_ = std::move(why);
    if (!why_.empty()) context_.Miss(*sum_->producer(), why_);
    return false;
  }

  RuleContext& context_;
  Facts& facts_;
  Value* sum_ = nullptr;
  std::vector<Node*> nodes_;
  std::vector<Term> terms_;
  HashSet<int64_t> numbers_;
  // True if no token may choose an expert twice.
  bool distinct_ = false;
  std::string why_;
};

bool FuseExperts(RuleContext& context, Node* term, Patch& patch) {
  // The sum is looked at once, from its first term.
  const Node* reader = OnlyReader(context.graph, term->output(0), "Add");
  if (reader != nullptr && IsOp(OtherOperand(*reader, term->output(0))->producer(), "Add")) {
    return false;
  }
  return ExpertSum(context, term).Propose(patch);
}

bool FuseScattered(RuleContext& context, Node* scatter, Patch& patch) {
  return AddsRows(scatter) && IsZero(scatter->input(0)) && FuseExperts(context, scatter, patch);
}

bool FuseAllRows(RuleContext& context, Node* weight, Patch& patch) {
  Node* product = OnlyReader(context.graph, weight->output(0), "Mul");
  return product != nullptr && WeightOfExpertIn(weight->output(0), context.facts).has_value() &&
         FuseExperts(context, product, patch);
}

}  // namespace

extern const Rule kExperts = {
    .name = "experts",
    .summary =
        "A sum over experts of what each adds for the tokens that chose it becomes one "
        "attnrun.Experts",
    .starts = {{{"ScatterElements", FuseScattered},
                {"ScatterND", FuseScattered},
                {"ReduceSum", FuseAllRows}}}};

}  // namespace attnrun::opt
