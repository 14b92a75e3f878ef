// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "core/status.h"
#include "core/strided.h"
#include "ops/gemm/gemm.h"
#include "ops/matmul/matmul.h"
#include "ops/tensors/float_operands.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

// A view of a matrix of floats, or of its transpose.
MatrixView ViewOf(const Tensor& floats, bool transposed) {
  const MatrixView view = {floats.data<float>(), floats.dim(0), floats.dim(1), floats.dim(1)};
  return transposed ? view.Transposed() : view;
}

const Tensor* InputC(const OpContext& context) {
  return context.has_input(2) ? &context.input(2) : nullptr;
}

// beta * C as a part of the epilogue: a bias if C is the same for all rows, else a residual.
class Addend {
 public:
  // `c` broadcasts to [m, n].
  static absl::StatusOr<Addend> Make(const Tensor& c, float beta, int64_t m, int64_t n,
                                     Allocator& allocator) {
    Addend addend;
    ATTNRUN_ASSIGN_OR_RETURN(addend.floats_, ToFloat(c, allocator));
    ATTNRUN_ASSIGN_OR_RETURN(const Shape strides, BroadcastStrides(c.shape(), {m, n}));
    const auto* values = addend.floats_.data<float>();
    if (strides[0] != 0) {
      addend.residual_ = {values, m, n, strides[0], strides[1]};
      addend.residual_scale_ = beta;
    } else if (strides[1] == 0 || beta != 1) {
      for (int64_t j = 0; j < n; ++j) addend.bias_.push_back(beta * values[j * strides[1]]);
    }
    return addend;
  }

  void AddTo(Epilogue& epilogue) const {
    epilogue.residual = residual_;
    epilogue.residual_scale = residual_scale_;
    if (residual_.data != nullptr) return;
    epilogue.bias = bias_.empty() ? floats_.data<float>() : bias_.data();
  }

 private:
  Tensor floats_;
  std::vector<float> bias_;
  MatrixView residual_;
  float residual_scale_ = 1;
};

class GemmKernel final : public Kernel {
 public:
  // `weight`: B, packed, if it is constant, else null.
  GemmKernel(const GemmAttributes& attributes, std::shared_ptr<const PackedMatrix> weight)
      : attributes_(attributes), weight_(std::move(weight)) {}

  absl::string_view name() const override { return GemmName(weight_.get()); }
  Precision precision() const override { return GemmPrecision(weight_.get()); }

  bool Accepts(const OpContext& context) const override {
    return IsFloatOrHalf(context.input(0).type()) && Resolve(context).ok();
  }

  absl::Status Run(OpContext& context) const override {
    Allocator& allocator = context.allocator();
    ATTNRUN_ASSIGN_OR_RETURN(const GemmShape shape, Resolve(context));
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor a, ToFloat(context.input(0), allocator));
    ATTNRUN_ASSIGN_OR_RETURN(
        FloatOutput y,
        FloatOutput::Allocate(context, 0, context.input(0).type(), {shape.m, shape.n}));
    if (y.num_elements() == 0) return absl::OkStatus();
    Epilogue epilogue;
    epilogue.scale = attributes_.alpha;
    Addend addend;
    if (const Tensor* c = InputC(context)) {
      ATTNRUN_ASSIGN_OR_RETURN(addend,
                               Addend::Make(*c, attributes_.beta, shape.m, shape.n, allocator));
      addend.AddTo(epilogue);
    }
    const MatrixView x = ViewOf(a, attributes_.transpose_a);
    if (weight_ != nullptr) {
      Gemm(x, *weight_, y.data(), shape.n, epilogue);
    } else {
      ATTNRUN_ASSIGN_OR_RETURN(const Tensor b, ToFloat(context.input(1), allocator));
      const GemmProblem problem = {x, ViewOf(b, attributes_.transpose_b), y.data(), shape.n,
                                   epilogue};
      BatchedGemm(1, [&](int64_t) { return problem; });
    }
    y.Store();
    return absl::OkStatus();
  }

  int64_t Flops(const OpContext& context) const override {
    const absl::StatusOr<GemmShape> shape = Resolve(context);
    return shape.ok() ? 2 * shape->m * shape->k * shape->n : 0;
  }

 private:
  absl::StatusOr<GemmShape> Resolve(const OpContext& context) const {
    return ResolveGemm(attributes_, context.input(0), context.input(1), InputC(context));
  }

  const GemmAttributes attributes_;
  const std::shared_ptr<const PackedMatrix> weight_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> GemmOp::MakeKernel(const KernelContext& context) const {
  std::shared_ptr<const PackedMatrix> weight;
  const Tensor& b = context.constants[1];
  if (b.defined() && IsFloatOrHalf(b.type()) && b.rank() == 2) {
    const StoredMatrix matrix(b);
    ATTNRUN_ASSIGN_OR_RETURN(
        weight, PackedMatrix::Pack(attributes_.transpose_b ? matrix.Transposed() : matrix, context,
                                   b.type()));
  }
  return std::make_unique<GemmKernel>(attributes_, std::move(weight));
}

}  // namespace attnrun::ops
