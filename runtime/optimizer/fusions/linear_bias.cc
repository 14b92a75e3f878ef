#include "optimizer/fusions/linear_bias.h"

#include "optimizer/node_queries.h"

namespace attnrun {

bool IsBias(const Value* value, int64_t columns, int rank) {
  if (value == nullptr || !value->is_constant()) return false;
  const Tensor& tensor = *value->constant();
  if (tensor.rank() == 0 || tensor.num_elements() != columns) return false;
  return tensor.dim(tensor.rank() - 1) == columns && (tensor.rank() == 1 || tensor.rank() <= rank);
}

Value* BiasOf(const Node& add, const Value* product) {
  return add.input(add.input(0) == product ? 1 : 0);
}

Node* BiasAdd(PassContext& context, const Value* product, int64_t columns) {
  if (context.graph.IsOutput(product) || product->consumers().size() != 1) return nullptr;
  Node* add = product->consumers()[0];
  if (!IsOp(add, "Add")) return nullptr;
  const int rank = context.facts.RankOf(product);
  return IsBias(BiasOf(*add, product), columns, rank) ? add : nullptr;
}

Value* FlatBias(Patch& patch, Value* bias) {
  if (bias == nullptr || bias->constant()->rank() == 1) return bias;
  return patch.Constant(bias->name(),
                        bias->constant()->Reshaped({bias->constant()->num_elements()}));
}

}  // namespace attnrun
