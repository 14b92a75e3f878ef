// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "absl/algorithm/container.h"
#include "ops/composite/composite.h"
#include "ops/interface/attribute_reader.h"

namespace attnrun::ops::contrib {
namespace {

// How FusedMatMul permutes an operand of rank 2 or more before it multiplies.
struct OperandOrder {
  // The last two axes are exchanged.
  bool transposed = false;
  // The first axis moves behind the other leading ones: [M, B, C, K] becomes [B, C, M, K].
  bool first_axis_last = false;

  // For each axis of the permuted operand, the axis of the operand.
  std::vector<int64_t> Permutation(int rank) const {
    std::vector<int64_t> axes(rank);
    std::iota(axes.begin(), axes.end(), 0);
    if (rank < 2) return axes;
    if (first_axis_last) std::rotate(axes.begin(), axes.begin() + 1, axes.end() - 1);
    if (transposed) std::swap(axes[rank - 2], axes[rank - 1]);
    return axes;
  }
};

// Input i with its axes in the order in which it is multiplied.
Value* Ordered(Body& b, int i, const OperandOrder& order) {
  if (!order.transposed && !order.first_axis_last) return b.input(i);
  const int rank = b.RankOf(b.input(i));
  if (rank < 0) b.Fail("the rank of an operand is not known");
  if (rank < 2) return b.input(i);
  const std::vector<int64_t> permutation = order.Permutation(rank);
  if (absl::c_is_sorted(permutation)) return b.input(i);
  return b.Op("Transpose", {b.input(i)}, {{"perm", permutation}});
}

Composite::Writer Product(AttributeReader& attributes, bool with_batches) {
  const float alpha = attributes.Float("alpha", 1);
  const auto order = [&](const char* transposed, const char* batch) {
    return OperandOrder{attributes.Int(transposed, 0) != 0,
                        with_batches && attributes.Int(batch, 0) != 0};
  };
  const OperandOrder a = order("transA", "transBatchA");
  const OperandOrder b = order("transB", "transBatchB");
  return [=](Body& body) {
    const DataType type = body.TypeOf(body.input(0));
    body.ExpectFloats({body.input(0), body.input(1)});
    Value* y = body.Op("MatMul", {Ordered(body, 0, a), Ordered(body, 1, b)});
    if (alpha == 1) return body.Give(y);
    if (type == DataType::kUndefined) return body.Fail("the type of A is not known");
    body.Give(body.Op("Mul", {y, body.Number(type, alpha)}));
  };
}

}  // namespace

// FusedMatMul-1 (A, B): Y = alpha * A'·B' as numpy.matmul. A' is A with its first axis moved behind
// the other leading ones (transBatchA), then its last two axes exchanged (transA); B' likewise.
// Operands of rank 1 stay as they are.
Composite::Writer FusedMatMul(AttributeReader& attributes) { return Product(attributes, true); }

// TransposeMatMul-1 (A, B): the same without transBatchA and transBatchB.
Composite::Writer TransposeMatMul(AttributeReader& attributes) {
  return Product(attributes, false);
}

// FusedGemm-1 (A, B, C?): Gemm followed by `activation` ("": none), a standard operator whose
// parameters are activation_alpha, activation_beta and activation_gamma.
Composite::Writer FusedGemm(AttributeReader& attributes) {
  AttributeMap gemm;
  for (const char* name : {"alpha", "beta"}) gemm[name] = attributes.Float(name, 1);
  for (const char* name : {"transA", "transB"}) gemm[name] = attributes.Int(name, 0);
  const std::string function = attributes.OneOf(
      "activation", "", {"", "Relu", "Tanh", "Sigmoid", "LeakyRelu", "HardSigmoid"});
  const auto alpha = attributes.Get<float>("activation_alpha");
  const auto beta = attributes.Get<float>("activation_beta");
  attributes.Ignore("activation_gamma");
  AttributeMap activation;
  const bool has_beta = function == "HardSigmoid";
  if (alpha.has_value() && (has_beta || function == "LeakyRelu")) activation["alpha"] = *alpha;
  if (beta.has_value() && has_beta) activation["beta"] = *beta;
  return [=](Body& b) {
    b.ExpectFloats({b.input(0), b.input(1), b.input(2)});
    Value* y = b.Op("Gemm", {b.input(0), b.input(1), b.input(2)}, gemm);
    b.Give(function.empty() ? y : b.Op(function, {y}, activation));
  };
}

}  // namespace attnrun::ops::contrib
