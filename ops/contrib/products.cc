// SPDX-License-Identifier: Apache-2.0
#include "ops/contrib/products.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "core/strided.h"
#include "ops/contrib/last_axis.h"
#include "ops/interface/infer_rules.h"
#include "ops/linear/activate.h"

namespace attnrun::ops {
namespace {

// An operand as a stack of matrices: row i, column k of the matrix at `offset` is values[offset + i
// * strides[rank - 2] + k * strides[rank - 1]].
struct Stack {
  std::vector<double> values = {};
  Shape shape;
  Shape strides;
};

absl::StatusOr<Stack> ReadStack(const Tensor& tensor, const OperandOrder& order) {
  Stack stack;
  ATTNRUN_ASSIGN_OR_RETURN(stack.values, ToDoubles(tensor));
  const Shape dense = DenseStrides(tensor.shape());
  for (const int64_t axis : order.Permutation(tensor.rank())) {
    stack.shape.push_back(tensor.dim(static_cast<int>(axis)));
    stack.strides.push_back(dense[axis]);
  }
  return stack;
}

double Entry(const Stack& stack, int64_t offset, int64_t row, int64_t column) {
  const size_t rank = stack.strides.size();
  return stack.values[offset + row * stack.strides[rank - 2] + column * stack.strides[rank - 1]];
}

absl::Status CheckTypes(const OpContext& context) {
  for (int i = 0; i < context.num_inputs(); ++i) {
    if (!context.has_input(i)) continue;
    const DataType type = context.input(i).type();
    if (IsFloatingPoint(type) && type == context.input(0).type()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("expected operands to be floats of one type, but they are ",
                     TypeAndShape(context.input(0)), " and ", TypeAndShape(context.input(i))));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<int64_t> OperandOrder::Permutation(int rank) const {
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (rank < 2) return axes;
  if (first_axis_last) std::rotate(axes.begin(), axes.begin() + 1, axes.end() - 1);
  if (transposed) std::swap(axes[rank - 2], axes[rank - 1]);
  return axes;
}

FusedMatMul::FusedMatMul(AttributeReader& attributes, bool with_batches)
    : alpha_(attributes.Float("alpha", 1)) {
  orders_[0].transposed = attributes.Int("transA", 0) != 0;
  orders_[1].transposed = attributes.Int("transB", 0) != 0;
  if (!with_batches) return;
  orders_[0].first_axis_last = attributes.Int("transBatchA", 0) != 0;
  orders_[1].first_axis_last = attributes.Int("transBatchB", 0) != 0;
}

absl::Status FusedMatMul::Reference(OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(CheckTypes(context));
  ATTNRUN_ASSIGN_OR_RETURN(Stack a, ReadStack(context.input(0), orders_[0]));
  ATTNRUN_ASSIGN_OR_RETURN(Stack b, ReadStack(context.input(1), orders_[1]));
  ATTNRUN_ASSIGN_OR_RETURN(const MatMulShape shape, ResolveMatMul(a.shape, b.shape));
  if (a.shape.size() == 1) a.strides.insert(a.strides.begin(), 0);
  if (b.shape.size() == 1) b.strides.push_back(0);
  std::vector<int64_t> b_offsets;
  ForEachOffset(shape.batch, BatchStrides(shape.batch, shape.b, b.strides),
                [&](int64_t offset) { b_offsets.push_back(offset); });
  std::vector<double> y;
  size_t matrix = 0;
  ForEachOffset(shape.batch, BatchStrides(shape.batch, shape.a, a.strides), [&](int64_t offset) {
    const int64_t other = b_offsets[matrix++];
    for (int64_t i = 0; i < shape.m; ++i) {
      for (int64_t j = 0; j < shape.n; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < shape.k; ++k) sum += Entry(a, offset, i, k) * Entry(b, other, k, j);
        y.push_back(alpha_ * sum);
      }
    }
  });
  return SetDoubles(context, 0, context.input(0).type(), shape.output, y);
}

void FusedMatMul::Infer(InferContext& context) const {
  std::optional<Dims> operands[2];
  for (const int i : {0, 1}) {
    const std::optional<Dims>& dims = context.input(i).dims;
    if (!dims.has_value()) continue;
    operands[i].emplace();
    for (const int64_t axis : orders_[i].Permutation(static_cast<int>(dims->size()))) {
      operands[i]->push_back((*dims)[axis]);
    }
  }
  SetDims(context, 0, InferMatMul(operands[0], operands[1]));
}

FusedGemm::FusedGemm(AttributeReader& attributes)
    : attributes_{.alpha = attributes.Float("alpha", 1),
                  .beta = attributes.Float("beta", 1),
                  .transpose_a = attributes.Int("transA", 0) != 0,
                  .transpose_b = attributes.Int("transB", 0) != 0},
      activation_(attributes.OneOf("activation", "",
                                   {"", "Relu", "Tanh", "Sigmoid", "LeakyRelu", "HardSigmoid"})),
      alpha_(attributes.Float("activation_alpha", activation_ == "HardSigmoid" ? 0.2F : 0.01F)),
      beta_(attributes.Float("activation_beta", 0.5F)) {
  attributes.Ignore("activation_gamma");
}

double FusedGemm::OfNumber(double x) const {
  if (activation_ == "Relu") return Activate(Activation::kRelu, x);
  if (activation_ == "Tanh") return Activate(Activation::kTanh, x);
  if (activation_ == "Sigmoid") return Activate(Activation::kSigmoid, x);
  if (activation_ == "LeakyRelu") return x < 0 ? alpha_ * x : x;
  if (activation_ == "HardSigmoid") return std::clamp<double>(alpha_ * x + beta_, 0, 1);
  return x;
}

absl::Status FusedGemm::Reference(OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(CheckTypes(context));
  const Tensor* c = context.has_input(2) ? &context.input(2) : nullptr;
  ATTNRUN_ASSIGN_OR_RETURN(const GemmShape shape,
                           ResolveGemm(attributes_, context.input(0), context.input(1), c));
  ATTNRUN_ASSIGN_OR_RETURN(const Stack a, ReadStack(context.input(0), {attributes_.transpose_a}));
  ATTNRUN_ASSIGN_OR_RETURN(const Stack b, ReadStack(context.input(1), {attributes_.transpose_b}));
  std::vector<double> addend = {0};
  Shape strides = {0, 0};
  if (c != nullptr) {
    ATTNRUN_ASSIGN_OR_RETURN(addend, ToDoubles(*c));
    ATTNRUN_ASSIGN_OR_RETURN(strides, BroadcastStrides(c->shape(), {shape.m, shape.n}));
  }
  std::vector<double> y;
  for (int64_t i = 0; i < shape.m; ++i) {
    for (int64_t j = 0; j < shape.n; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < shape.k; ++k) sum += Entry(a, 0, i, k) * Entry(b, 0, k, j);
      const double added = addend[i * strides[0] + j * strides[1]];
      y.push_back(OfNumber(attributes_.alpha * sum + attributes_.beta * added));
    }
  }
  return SetDoubles(context, 0, context.input(0).type(), {shape.m, shape.n}, y);
}

void FusedGemm::Infer(InferContext& context) const {
  const auto& a = context.input(0).dims;
  const auto& b = context.input(1).dims;
  Dims y = UnknownDims(2);
  if (a.has_value() && a->size() == 2) y[0] = (*a)[attributes_.transpose_a ? 1 : 0];
  if (b.has_value() && b->size() == 2) y[1] = (*b)[attributes_.transpose_b ? 0 : 1];
  SetDims(context, 0, std::move(y));
}

}  // namespace attnrun::ops
