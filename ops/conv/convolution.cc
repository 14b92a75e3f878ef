// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/convolution.h"

#include <utility>
#include <vector>

#include "core/status.h"
#include "ops/conv/patch_matrix.h"
#include "ops/gemm/gemm.h"
#include "ops/tensors/float_operands.h"

namespace attnrun::ops {

absl::Status Convolution::Prepare(const ConvShape& typical, const Tensor& w, bool bias,
                                  const KernelContext& context) {
  const ConvWeights weights = ConvWeights::Of(w, typical);
  // A product is computed in int8 if that is asked for, other convolutions in bf16.
  const bool is_int8 = context.precision == Precision::kInt8 && WindowProduct::Suits(typical);
  if (!is_int8 && !HasShortSum(typical)) {
    ATTNRUN_ASSIGN_OR_RETURN(bf16_, Bf16Conv::Make(weights, context));
    if (bf16_ != nullptr) return absl::OkStatus();
  }
  ATTNRUN_ASSIGN_OR_RETURN(product_, WindowProduct::Make(typical, weights, context));
  // A product may be of lower precision.
  const bool exact = product_ == nullptr || context.precision == Precision::kFloat32;
  const bool lines = exact && LineConv::Suits(typical);
  if (product_ != nullptr && !lines) return absl::OkStatus();
  ATTNRUN_ASSIGN_OR_RETURN(Tensor floats, ToFloat(w, Allocator::Heap()));
  if (lines) lines_ = LineConv::Make(typical, floats.data<float>());
  if (product_ != nullptr) return absl::OkStatus();
  floats_ = std::move(floats);
  return lines ? absl::OkStatus() : tiled_.Prepare(typical, floats_.data<float>(), bias);
}

absl::StatusOr<bool> Convolution::RunPacked(const ConvShape& shape, const Operands& operands,
                                            Allocator& allocator) const {
  if (bf16_ != nullptr) {
    ATTNRUN_RETURN_IF_ERROR(bf16_->Run(shape, operands, allocator));
    return true;
  }
  if (lines_ != nullptr && LineConv::Serves(shape)) {
    ATTNRUN_RETURN_IF_ERROR(lines_->Run(shape, operands, allocator));
    return true;
  }
  if (product_ == nullptr) return false;
  return product_->Run(shape, {operands.x, operands.bias, operands.y}, allocator);
}

absl::StatusOr<bool> Convolution::RunPrepared(const ConvShape& shape, const Operands& operands,
                                              Allocator& allocator) const {
  ATTNRUN_ASSIGN_OR_RETURN(const bool done, RunPacked(shape, operands, allocator));
  if (done || !floats_.defined()) return done;
  Operands all = operands;
  all.w = floats_.data<float>();
  ATTNRUN_RETURN_IF_ERROR(Run(shape, all, allocator));
  return true;
}

absl::Status Convolution::Run(const ConvShape& shape, const Operands& operands,
                              Allocator& allocator) const {
  ATTNRUN_ASSIGN_OR_RETURN(const bool done, tiled_.Run(shape, operands, allocator));
  if (!done) MultiplyPatches(shape, operands);
  return absl::OkStatus();
}

void Convolution::MultiplyPatches(const ConvShape& shape, const Operands& operands) {
  const auto [x, w, bias, y] = operands;
  const int64_t channels = shape.c / shape.group;
  const int64_t features = shape.m / shape.group;
  const int64_t depth = channels * shape.kernel_size;
  const bool pointwise = IsPointwise(shape);
  const int64_t count = shape.n * shape.group;
  std::vector<PatchMatrix> patches;
  for (int64_t i = 0; i < count && !pointwise; ++i) {
    patches.emplace_back(shape.window, x + i * channels * shape.input_size, shape.input_size,
                         shape.kernel_size);
  }
  // Images and groups are the outermost axes, so the i-th (image, group) pair has the i-th runs of
  // channels and of features.
  BatchedGemm(count, [&](int64_t i) {
    const int64_t group = i % shape.group;
    GemmProblem problem;
    problem.a = {w + group * features * depth, features, depth, depth};
    problem.b = {x + i * channels * shape.input_size, depth, shape.output_size, shape.output_size};
    if (!pointwise) problem.b_source = &patches[i];
    problem.c = y + i * features * shape.output_size;
    problem.ldc = shape.output_size;
    if (bias != nullptr) {
      problem.epilogue.residual = {bias + group * features, features, shape.output_size, 1, 0};
    }
    return problem;
  });
}

}  // namespace attnrun::ops
