// SPDX-License-Identifier: Apache-2.0
#include "ops/contrib/products.h"

#include "absl/algorithm/container.h"
#include "optimizer/rules/contrib/expansion.h"

namespace attnrun::opt {
namespace {

// The operand with its axes in the order in which it is multiplied; null if that needs a rank that
// is not known.
Value* Ordered(Expansion& e, int i, const ops::OperandOrder& order) {
  if (!order.transposed && !order.first_axis_last) return e.input(i);
  const int rank = e.facts().RankOf(e.input(i));
  if (rank < 0) return nullptr;
  const std::vector<int64_t> permutation = order.Permutation(rank);
  if (absl::c_is_sorted(permutation)) return e.input(i);
  return e.Op("Transpose", {e.input(i)}, {{"perm", permutation}});
}

}  // namespace

bool ExpandFusedMatMul(Expansion& e) {
  Value* a = Ordered(
      e, 0, {e.Attribute<int64_t>("transA", 0) != 0, e.Attribute<int64_t>("transBatchA", 0) != 0});
  Value* b = Ordered(
      e, 1, {e.Attribute<int64_t>("transB", 0) != 0, e.Attribute<int64_t>("transBatchB", 0) != 0});
  if (a == nullptr || b == nullptr) return e.Decline("the rank of an operand is not known");
  const float alpha = e.Attribute("alpha", 1.0F);
  const DataType type = e.TypeOf(e.input(0));
  if (alpha != 1 && !IsFloatingPoint(type)) return e.Decline("the type of A is not known");
  Value* product = e.Op("MatMul", {a, b});
  return e.Give(alpha == 1 ? product : e.Op("Mul", {product, e.Number(type, alpha)}));
}

bool ExpandFusedGemm(Expansion& e) {
  AttributeMap gemm;
  AttributeMap activation;
  for (const auto& [name, value] : e.node().attributes()) {
    if (!name.starts_with("activation")) gemm[name] = value;
  }
  const auto function = e.Attribute<std::string>("activation", "");
  if (function == "LeakyRelu" || function == "HardSigmoid") {
    const AttributeValue* alpha = e.node().attribute("activation_alpha");
    if (alpha != nullptr) activation["alpha"] = *alpha;
  }
  if (function == "HardSigmoid") {
    const AttributeValue* beta = e.node().attribute("activation_beta");
    if (beta != nullptr) activation["beta"] = *beta;
  }
  Value* y = e.Op("Gemm", e.node().inputs(), gemm);
  return e.Give(function.empty() ? y : e.Op(function, {y}, activation));
}

}  // namespace attnrun::opt
