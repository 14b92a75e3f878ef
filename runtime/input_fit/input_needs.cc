// SPDX-License-Identifier: Apache-2.0
#include "input_fit/input_needs.h"

#include <algorithm>
#include <optional>

#include "absl/algorithm/container.h"
#include "core/elements.h"
#include "core/hash_map.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/facts.h"
#include "optimizer/analysis/node_queries.h"

namespace attnrun::fit {
namespace {

using Pair = std::pair<SymInt, SymInt>;

// Constant indices beyond this are no sign of a larger axis.
constexpr int64_t kFarthest = int64_t{1} << 31;

// Numbers that bound the elements of an integer tensor that has some: all are at least `least`, and
// one of them is at least `reach`.
struct Bounds {
  int64_t least = 0;
  int64_t reach = 0;
};

// nullopt where nothing is known. Places of elements (NonZero), and sums and multiples of them, are
// never negative; exporters add constants to them.
std::optional<Bounds> BoundsOf(const Value* value, int depth = 12) {
  if (value == nullptr || depth == 0) return std::nullopt;
  if (value->is_constant()) {
    const absl::StatusOr<std::vector<int64_t>> numbers = ToInts(*value->constant());
    if (!numbers.ok() || numbers->empty()) return std::nullopt;
    const auto [least, most] = absl::c_minmax_element(*numbers);
    if (*most >= kFarthest || *least <= -kFarthest) return std::nullopt;
    return Bounds{*least, *most};
  }
  const Node* node = value->producer();
  if (node == nullptr) return std::nullopt;
  if (opt::IsOp(node, "NonZero")) return Bounds{};
  if (opt::IsOp(node, "Cast") || ops::TraitsOf(*node).rearranges) {
    return BoundsOf(node->input(0), depth - 1);
  }
  // A part of the elements need not have the greatest.
  if (ops::TraitsOf(*node).moves_elements) {
    const auto bounds = BoundsOf(node->input(0), depth - 1);
    return bounds.has_value() ? std::optional(Bounds{bounds->least, bounds->least}) : bounds;
  }
  if (!opt::IsOp(node, "Add") && !opt::IsOp(node, "Mul")) return std::nullopt;
  const auto a = BoundsOf(node->input(0), depth - 1);
  const auto b = BoundsOf(node->input(1), depth - 1);
  if (!a.has_value() || !b.has_value()) return std::nullopt;
  if (opt::IsOp(node, "Mul")) {
    if (a->least < 0 || b->least < 0) return std::nullopt;
    return Bounds{};
  }
  return Bounds{a->least + b->least, std::max(a->reach + b->least, a->least + b->reach)};
}

// An input of the main graph, and the most that constants add to its elements.
struct Origin {
  const Value* value = nullptr;
  int64_t added = 0;
};

// The most that the other operands of a sum add, as far as they are constant.
int64_t AddedBesides(const Node& sum, const Value* operand) {
  int64_t added = 0;
  for (const Value* other : sum.inputs()) {
    if (other == operand || !other->is_constant()) continue;
    if (const auto bounds = BoundsOf(other)) added += bounds->reach;
  }
  return added;
}

// The inputs of the main graph whose elements are those of a value, or some of them, perhaps in
// another type, with a number added, beside others or limited.
std::vector<Origin> InputsBehind(const Value* value) {
  std::vector<Origin> inputs;
  std::vector<Origin> stack = {{value}};
  HashSet<const Value*> seen;
  while (!stack.empty()) {
    const Origin top = stack.back();
    stack.pop_back();
    if (top.value == nullptr || !seen.insert(top.value).second) continue;
    const auto push = [&](const Value* next, int64_t added = 0) {
      stack.push_back({next, top.added + added});
    };
    if (top.value->outer() != nullptr) push(top.value->outer());
    if (top.value->is_input()) inputs.push_back(top);
    const Node* node = top.value->producer();
    if (node == nullptr) continue;
    if (opt::IsOp(node, "Where")) {
      push(node->input(1));
      push(node->input(2));
    } else if (opt::IsOp(node, "Add")) {
      for (const Value* input : node->inputs()) push(input, AddedBesides(*node, input));
    } else if (opt::IsOp(node, "Max") || opt::IsOp(node, "Min") || opt::IsOp(node, "Concat")) {
      for (const Value* input : node->inputs()) push(input);
    } else if (opt::IsOp(node, "Cast") || opt::IsOp(node, "Clip") || opt::IsOp(node, "Pad") ||
               ops::TraitsOf(*node).moves_elements) {
      push(node->input(0));
    }
  }
  return inputs;
}

class Collector {
 public:
  explicit Collector(const Graph& graph) : facts_(graph) {
    for (const auto& [a, b, node] : facts_.equalities().list()) AddPair({a, b}, needs_.equal);
    for (const SymInt& number : facts_.required()) AddNumber(number);
    VisitAll(graph, facts_);
  }

  InputNeeds Take() { return std::move(needs_); }

 private:
  void VisitAll(const Graph& graph, opt::Facts& facts) {
    for (const Node* node : graph.nodes()) {
      Visit(*node, facts);
      if (!opt::IsOp(node, "If")) continue;
      for (const auto& [name, attribute] : node->attributes()) {
        const auto* branch = std::get_if<std::shared_ptr<Graph>>(&attribute);
        if (branch == nullptr) continue;
        opt::Facts inner(**branch, facts);
        VisitAll(**branch, inner);
      }
    }
  }

  void Visit(const Node& node, opt::Facts& facts) {
    std::vector<ops::ValueFacts> outputs(node.outputs().size());
    facts.Infer(node, absl::MakeSpan(outputs),
                [&](const ops::InferContext& context) { Add(node, context); });
  }

  void Add(const Node& node, const ops::InferContext& context) {
    for (const SymInt& number : context.required()) AddNumber(number);
    for (const Pair& pair : context.equal()) AddPair(pair, needs_.equal);
    for (const Pair& pair : context.broadcast()) AddPair(pair, needs_.broadcast);
    for (const auto& [input, extent] : context.indices()) {
      if (!extent.IsComputable()) continue;
      AddReach(node.input(input), extent);
      for (const auto& [value, added] : InputsBehind(node.input(input))) {
        // A limit that no id is below limits none.
        const SymInt limit = extent - std::max<int64_t>(added, 0);
        const bool is_open = limit.constant().value_or(1) > 0;
        AddOnce(is_open ? limit : extent, needs_.indexed[value->name()]);
      }
    }
  }

  // Indices must lie inside the axis that they index.
  void AddReach(const Value* indices, const SymInt& extent) {
    const auto bounds = BoundsOf(indices);
    if (!bounds.has_value()) return;
    if (bounds->reach >= 0) AddNumber(extent - bounds->reach - 1);
    if (indices->is_constant() && bounds->least < 0) AddNumber(extent + bounds->least);
  }

  void AddNumber(const SymInt& number) {
    if (number.IsComputable()) AddOnce(number, needs_.not_negative);
  }

  static void AddPair(const Pair& pair, std::vector<Pair>& pairs) {
    const bool tells = !pair.first.constant().has_value() || !pair.second.constant().has_value();
    if (tells && pair.first.IsComputable() && pair.second.IsComputable()) AddOnce(pair, pairs);
  }

  // Layers of a model need the same again and again.
  template <typename T>
  static void AddOnce(const T& item, std::vector<T>& items) {
    constexpr size_t kMost = 512;
    if (items.size() < kMost && !absl::c_linear_search(items, item)) items.push_back(item);
  }

  opt::Facts facts_;
  InputNeeds needs_;
};

}  // namespace

InputNeeds NeedsOf(const Graph& graph) { return Collector(graph).Take(); }

}  // namespace attnrun::fit
