// SPDX-License-Identifier: Apache-2.0

// Removes nodes that return their input, which exporters leave in the graph:
//
//   Identity(x), Dropout(x) outside of training, Concat(x), Sum(x), x + 0, x * 1,
//   Max(x, -inf)                                                                   ->   x
//   Cast(x, the type of x), or a Cast back after a Cast that lost nothing          ->   x
//   Concat(x[:a], x[a:])                                                           ->   x
//
// Sums with 0, products with 1 and the like are removed only where they do not change the shape.

#include <cmath>
#include <optional>

#include "absl/algorithm/container.h"
#include "ops/interface/infer_rules.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

// True if a Dropout drops elements. With a ratio of 0 it drops none, even in training.
bool Drops(const Node& node) {
  if (node.input(2) == nullptr || ScalarOf(node.input(2)) == 0.0) return false;
  return ScalarOf(node.input(1)) != 0.0;
}

// True if every element of type `from` survives a conversion to `to`.
bool Widens(DataType from, DataType to) {
  if (from == to) return true;
  if (to == DataType::kDouble) return from == DataType::kFloat || from == DataType::kFloat16;
  if (to == DataType::kFloat) return from == DataType::kFloat16 || from == DataType::kBfloat16;
  return to == DataType::kInt64 && from == DataType::kInt32;
}

Value* CastSource(const Node& node, Facts& facts) {
  const DataType to = facts.TypeOf(node.output(0));
  if (to == DataType::kUndefined) return nullptr;
  Value* input = node.input(0);
  if (facts.TypeOf(input) == to) return input;
  const Node* before = ProducerOf(input, "Cast");
  if (before == nullptr) return nullptr;
  const DataType from = facts.TypeOf(before->input(0));
  return from == to && Widens(from, facts.TypeOf(input)) ? before->input(0) : nullptr;
}

// The number that leaves the other operand as it is.
std::optional<double> NeutralNumber(const std::string& op) {
  if (op == "Add" || op == "Sub") return 0;
  if (op == "Mul" || op == "Div") return 1;
  if (op == "Max") return -INFINITY;
  if (op == "Min") return INFINITY;
  return std::nullopt;
}

// The operand x of x + 0, x - 0, x * 1, x / 1, Max(x, -inf) or Min(x, inf).
Value* NeutralOperand(const Node& node, Facts& facts) {
  const auto neutral = NeutralNumber(node.op_type());
  for (const auto& [other, constant] : ReadingsOf(&node)) {
    if (!neutral.has_value() || ScalarOf(constant) != neutral) continue;
    if (facts.RankOf(other) >= constant->constant()->rank()) return other;
  }
  return nullptr;
}

bool PadsNothing(const Node& node, Facts& facts) {
  const auto pads = KnownInts(node, "pads", 1, facts);
  return pads.has_value() && absl::c_all_of(*pads, [](int64_t pad) { return pad == 0; });
}

// A part x[begin:end] of x along one axis, as a Slice cuts it.
struct Part {
  Value* x = nullptr;
  int64_t begin = 0;
  int64_t end = 0;
};

std::optional<Part> PartAlong(int axis, int rank, const Value* value, Facts& facts) {
  const Node* slice = ProducerOf(value, "Slice");
  if (slice == nullptr) return std::nullopt;
  const auto begin = KnownInts(*slice, "starts", 1, facts);
  const auto end = KnownInts(*slice, "ends", 2, facts);
  const auto axes = KnownInts(*slice, "axes", 3, facts);
  const auto steps = KnownInts(*slice, "steps", 4, facts);
  if (!begin.has_value() || !end.has_value() || !axes.has_value()) return std::nullopt;
  if (begin->size() != 1 || end->size() != 1 || axes->size() != 1) return std::nullopt;
  if (slice->input(4) != nullptr && steps != std::vector<int64_t>{1}) return std::nullopt;
  if (ops::KnownAxis((*axes)[0], rank) != static_cast<size_t>(axis)) return std::nullopt;
  return Part{slice->input(0), (*begin)[0], (*end)[0]};
}

// The value all of whose parts, in order, a Concat puts together; null for others. Whatever the
// extent is, a part ends where the next one begins: two parts have one bound between them, and
// bounds of more must count from the front.
Value* Rejoined(const Node& concat, Facts& facts) {
  const int rank = facts.RankOf(concat.output(0));
  const auto axis = rank < 1 ? std::nullopt : AxisOf(concat, rank);
  if (!axis.has_value()) return nullptr;
  Part joined;
  for (const Value* input : concat.inputs()) {
    const auto part = PartAlong(*axis, rank, input, facts);
    if (!part.has_value() || part->begin != joined.end) return nullptr;
    if (joined.x != nullptr && part->x != joined.x) return nullptr;
    const bool orders = part->end >= part->begin && part->begin >= 0;
    if (!orders && concat.inputs().size() > 2) return nullptr;
    joined = *part;
  }
  return joined.end >= INT32_MAX ? joined.x : nullptr;
}

// The input that the node returns unchanged, or null.
Value* Unchanged(const Node& node, Facts& facts) {
  if (!node.domain().empty()) return nullptr;
  const std::string& op = node.op_type();
  if (op == "Identity") return node.input(0);
  if (op == "Dropout" && !Drops(node)) {
    const Value* mask = node.output(1);
    return mask == nullptr || mask->consumers().empty() ? node.input(0) : nullptr;
  }
  if (op == "Cast") return CastSource(node, facts);
  if (op == "Pad" && PadsNothing(node, facts)) return node.input(0);
  const bool folds = op == "Concat" || op == "Sum" || op == "Max" || op == "Min";
  if (folds && node.inputs().size() == 1) return node.input(0);
  if (op == "Concat") return Rejoined(node, facts);
  return NeutralOperand(node, facts);
}

bool RemoveNoOps(RuleContext& context, Node* node, Patch& patch) {
  Value* unchanged = Unchanged(*node, context.facts);
  if (unchanged == nullptr) return false;
  return patch.Substitute(node, unchanged) && patch.CanApply();
}

}  // namespace

extern const Rule kNoOps = {.name = "no_ops",
                            .summary = "A node that returns its input unchanged is removed",
                            .anchors = {"Identity", "Dropout", "Cast", "Pad", "Concat", "Sum",
                                        "Max", "Min", "Add", "Sub", "Mul", "Div"},
                            .propose = RemoveNoOps};

}  // namespace attnrun::opt
