// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/normalization/normalized_rows.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/quote.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/reduction.h"
#include "optimizer/rewrite/reshape.h"

namespace attnrun::opt {
namespace {

bool IsHalf(DataType type) { return type == DataType::kFloat16 || type == DataType::kBfloat16; }

Pattern Square(Value** x) {
  return OneOf({Op("Pow", {Is(x), Number(2, 0)}), Op("Mul", {Is(x), Same(x)})});
}

// mean(x^2) + epsilon, or mean(x^2) alone: some exporters leave a small epsilon out.
Pattern MeanSquarePlus(Value** x, double* epsilon) {
  const Pattern mean = LastAxisMean(Square(x));
  const Pattern alone([=](Value* value, Facts& facts, MatchedNodes& nodes) {
    *epsilon = 0;
    return mean.Match(value, facts, nodes);
  });
  return OneOf({Op("Add", {mean, Scalar(epsilon)}), alone});
}

Pattern Root(Value** x, double* epsilon) {
  return OneOf({Op("Sqrt", {MeanSquarePlus(x, epsilon)}),
                Op("Pow", {MeanSquarePlus(x, epsilon), Number(0.5, 0)})});
}

// True if the node multiplies `y` by a constant of the type and shape of `scale`.
bool IsScaled(const Node* mul, const Value* y, const Tensor& scale) {
  if (!IsOp(mul, "Mul") || mul->output(0) == nullptr) return false;
  const Value* other = OtherOperand(*mul, y);
  return other != nullptr && other->is_constant() &&
         TypeAndShape(*other->constant()) == TypeAndShape(scale);
}

}  // namespace

Value* Ones(Patch& patch, DataType type, int64_t length) {
  return patch.Constant("ones", FromDoubles(type, {length}, std::vector<double>(length, 1)));
}

bool IsRowParameter(const Value* value, int64_t length, int rank, Facts& facts) {
  if (value == nullptr) return false;
  if (value->is_constant()) {
    const Tensor& tensor = *value->constant();
    return tensor.rank() > 0 && tensor.rank() <= rank && tensor.num_elements() == length &&
           tensor.dim(tensor.rank() - 1) == length;
  }
  return facts.RankOf(value) == 1 && facts.Extent(value, 0) == length;
}

Pattern LastAxisMean(Pattern inner) {
  return Pattern([inner = std::move(inner)](Value* value, Facts& facts, MatchedNodes& nodes) {
    Node* node = value->producer();
    if (node == nullptr || ReducedAxis(*node, "ReduceMean", facts) != -1) return false;
    nodes.push_back(node);
    return inner.Match(node->input(0), facts, nodes);
  });
}

Pattern InverseRoot(Value** x, double* epsilon) {
  return MaybeCast(
      OneOf({Op("Reciprocal", {Root(x, epsilon)}), Op("Div", {Number(1, 0), Root(x, epsilon)}),
             Op("Pow", {MeanSquarePlus(x, epsilon), Number(-0.5, 0)})}));
}

Value* BeforeWidening(Value* value, Facts& facts) {
  const Node* cast = ProducerOf(value, "Cast");
  const DataType type = facts.TypeOf(value);
  if (cast == nullptr || (type != DataType::kFloat && type != DataType::kDouble)) return value;
  return IsHalf(facts.TypeOf(cast->input(0))) ? cast->input(0) : value;
}

std::optional<NormalizedRows> FindNormalizedRows(Node* node, Facts& facts) {
  NormalizedRows rows;
  Value* x = nullptr;
  Value* squared = nullptr;
  const Pattern inverse = InverseRoot(&squared, &rows.epsilon);
  const Pattern quotient = OneOf({Op("Div", {Is(&x), MaybeCast(Root(&squared, &rows.epsilon))}),
                                  Op("Mul", {inverse, Is(&x)})});
  const Pattern scaled = Op("Mul", {Op("Mul", {inverse, Constant(&rows.scale)}), Is(&x)});
  if (!quotient.Match(node->output(0), facts, rows.nodes)) {
    rows.scale = nullptr;
    if (!scaled.Match(node->output(0), facts, rows.nodes)) return std::nullopt;
  }
  rows.x = BeforeWidening(x, facts);
  if (BeforeWidening(squared, facts) != rows.x) return std::nullopt;
  rows.y = node->output(0);
  // A constant with more axes than x would add axes to the result.
  const int rank = facts.RankOf(rows.x);
  if (rank < 1 || facts.RankOf(rows.y) != rank) return std::nullopt;
  const std::optional<int64_t> length = facts.Extent(rows.x, -1);
  const bool fits = length.has_value() && IsRowParameter(rows.scale, *length, rank, facts);
  return rows.scale == nullptr || fits ? std::optional(rows) : std::nullopt;
}

void TakeRowParameters(const Graph& graph, Facts& facts, bool with_bias, NormalizedRows& rows) {
  const int rank = facts.RankOf(rows.x);
  const std::optional<int64_t> length = facts.Extent(rows.x, -1);
  if (!length.has_value()) return;
  // Takes the only reader if it is this operator and its other operand is a parameter.
  const auto take = [&](absl::string_view op_type) {
    Node* node = OnlyReader(graph, rows.y, op_type);
    Value* parameter = node == nullptr ? nullptr : OtherOperand(*node, rows.y);
    if (!IsRowParameter(parameter, *length, rank, facts)) return static_cast<Value*>(nullptr);
    rows.nodes.push_back(node);
    rows.y = node->output(0);
    return parameter;
  };
  Node* cast = OnlyReader(graph, rows.y, "Cast");
  if (cast != nullptr && IsHalf(facts.TypeOf(cast->output(0)))) {
    rows.nodes.push_back(cast);
    rows.y = cast->output(0);
  }
  if (rows.scale == nullptr) rows.scale = take("Mul");
  if (with_bias) rows.bias = take("Add");
}

bool ReplaceRows(RuleContext& context, Patch& patch, const Node& anchor, const char* op_type,
                 const NormalizedRows& rows) {
  const DataType type = context.facts.TypeOf(rows.y);
  const std::optional<int64_t> length = context.facts.Extent(rows.x, -1);
  if (rows.scale == nullptr && (type == DataType::kUndefined || !length.has_value())) {
    context.Miss(anchor, absl::StrCat("the length of the rows of ", Quoted(rows.x->name()),
                                      " is not known, nor is there a scale of that length"));
    return false;
  }
  // The operators refuse rows of no elements.
  if (length == 0) return false;
  patch.Supersede(rows.nodes);
  Value* scale = rows.scale == nullptr ? Ones(patch, type, *length) : Flat(patch, rows.scale);
  std::vector<Value*> inputs = {rows.x, scale};
  if (rows.bias != nullptr) inputs.push_back(Flat(patch, rows.bias));
  return patch.Replace(
      rows.y, patch.Op(op_type, inputs,
                       {{"axis", int64_t{-1}}, {"epsilon", static_cast<float>(rows.epsilon)}},
                       anchor.name()));
}

bool ScaleByReader(RuleContext& context, Node* norm, Patch& patch) {
  const Value* scale = norm->input(1);
  if (norm->outputs().size() != 1 || norm->input(2) != nullptr || UniformOf(scale) != 1 ||
      !scale->is_constant())
    return false;
  const Value* y = norm->output(0);
  const std::vector<Node*> readers = y->consumers();
  if (readers.empty() || context.graph.IsOutput(y)) return false;
  if (!std::ranges::all_of(readers,
                           [&](const Node* n) { return IsScaled(n, y, *scale->constant()); }))
    return false;
  patch.Supersede({norm});
  patch.Supersede(readers);
  for (const Node* mul : readers) {
    patch.Replace(mul->output(0), patch.Op(norm->op_type(), {norm->input(0), OtherOperand(*mul, y)},
                                           norm->attributes(), mul->name()));
  }
  return true;
}

}  // namespace attnrun::opt
