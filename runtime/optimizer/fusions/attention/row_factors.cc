#include "optimizer/fusions/attention/row_factors.h"

#include "optimizer/each_node.h"
#include "optimizer/node_queries.h"
#include "optimizer/trace.h"

namespace attnrun {
namespace {

// Of products of heads with heads.
bool IsProduct(const Node* node) {
  return IsOp(node, "MatMul") && !node->input(0)->is_constant() && !node->input(1)->is_constant() &&
         node->output(0)->consumers().size() == 1;
}

// Whether `factor` is the same for all columns of a product of this rank, but no single number,
// which needs no place of its own.
bool IsByRow(const Value* factor, int rank, Facts& facts) {
  const std::vector<SymInt>* dims = facts.DimsOf(factor);
  if (dims == nullptr || static_cast<int>(dims->size()) > rank) return false;
  return !UniformOf(factor).has_value() && (dims->empty() || dims->back().is_constant(1));
}

// Whether it is a bool as numbers, or constant: masks, that close keys, are such.
bool MayBeMask(const Value* factor, Facts& facts) {
  for (int i = 0; i < 8 && factor->producer() != nullptr && IsViewNode(*factor->producer()); ++i) {
    factor = factor->producer()->input(0);
  }
  const Node* cast = factor->producer();
  return factor->is_constant() ||
         (IsOp(cast, "Cast") && facts.TypeOf(cast->input(0)) == DataType::kBool);
}

// Whether `factor` is the same for all rows of a product of as many rows as columns, [.., 1, T].
bool IsByColumn(const Value* factor, const Value* product, Facts& facts) {
  const std::vector<SymInt>* of = facts.DimsOf(product);
  const std::vector<SymInt>* dims = facts.DimsOf(factor);
  if (of == nullptr || of->size() < 2 || (*of)[of->size() - 1] != (*of)[of->size() - 2]) {
    return false;
  }
  if (dims == nullptr || dims->empty() || dims->size() > of->size()) return false;
  if (dims->size() > 1 && !(*dims)[dims->size() - 2].is_constant(1)) return false;
  return dims->back() == of->back() && !MayBeMask(factor, facts);
}

// Scores times a factor for each key, perhaps over a scale, which then comes behind it.
bool ProposeColumns(PassContext& context, Node* node, Patch& patch) {
  if (!IsOp(node, "Mul") || !LeadsToSoftmax(*node->output(0))) return false;
  for (const int side : {0, 1}) {
    Value* scores = node->input(side);
    Node* scale = scores->producer();
    double number = 1;
    Value* inner = scale == nullptr ? nullptr : ScaledOperand(*scale, number);
    Node* product = inner == nullptr ? scale : inner->producer();
    Value* factor = node->input(1 - side);
    if (!IsProduct(product) || !IsByColumn(factor, scores, context.facts)) continue;
    const int rank = context.facts.RankOf(scores);
    if (context.facts.RankOf(product->input(1)) != rank) continue;
    patch.Supersede({product, node});
    if (inner != nullptr) patch.Supersede({scale});
    if (!patch.Admits({node->output(0)}, nullptr)) return false;
    Value* keys = patch.Op("Mul", {product->input(1), factor}, {}, node->name());
    Value* result = patch.Op("MatMul", {product->input(0), keys}, {}, product->name());
    if (inner != nullptr) {
      std::vector<Value*> operands = scale->inputs();
      operands[operands[0] == inner ? 0 : 1] = result;
      result = patch.Op(scale->op_type(), operands, {}, scale->name());
    }
    patch.Replace(node->output(0), result);
    return true;
  }
  return false;
}

bool Propose(PassContext& context, Node* node, Patch& patch) {
  if (!IsOp(node, "Mul") && !IsOp(node, "Div")) return false;
  for (const int side : {0, 1}) {
    Node* product = node->input(side)->producer();
    Value* factor = node->input(1 - side);
    if (!IsProduct(product) || (side == 1 && IsOp(node, "Div"))) continue;
    const int rank = context.facts.RankOf(product->output(0));
    if (rank < 2 || context.facts.RankOf(product->input(0)) != rank) continue;
    if (!IsByRow(factor, rank, context.facts) || !LeadsToSoftmax(*node->output(0))) continue;
    if (context.graph.IsOutput(product->output(0))) continue;
    patch.Supersede({product, node});
    Value* rows = patch.Op(node->op_type(), {product->input(0), factor}, {}, node->name());
    Value* scores = patch.Op("MatMul", {rows, product->input(1)}, {}, product->name());
    patch.Replace(node->output(0), scores);
    return true;
  }
  return false;
}

}  // namespace

bool LeadsToSoftmax(const Value& scores) {
  constexpr int kMaxSteps = 8;
  const Value* value = &scores;
  for (int step = 0; step < kMaxSteps && value->consumers().size() == 1; ++step) {
    const Node* node = value->consumers()[0];
    if (IsOp(node, "Softmax")) return true;
    const bool passes = IsOp(node, "Add") || IsOp(node, "Sub") || IsOp(node, "Mul") ||
                        IsOp(node, "Div") || IsOp(node, "Where") || IsOp(node, "Cast") ||
                        IsViewNode(*node);
    if (!passes || node->output(0) == nullptr) return false;
    value = node->output(0);
  }
  return false;
}

absl::StatusOr<int> MoveRowFactors(PassContext& context) {
  return RewriteEachNode(context, [&](Node* node, Patch& patch) {
    return Propose(context, node, patch) || ProposeColumns(context, node, patch);
  });
}

}  // namespace attnrun
