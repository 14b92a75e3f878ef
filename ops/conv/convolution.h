// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_CONVOLUTION_H_
#define ATTNRUN_OPS_CONV_CONVOLUTION_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attnrun/precision.h"
#include "ops/conv/bf16_conv.h"
#include "ops/conv/conv.h"
#include "ops/conv/line_conv.h"
#include "ops/conv/tiled_conv.h"
#include "ops/conv/window_product.h"
#include "ops/interface/kernel_context.h"

namespace attnrun::ops {

// One node's convolution on floats. Runs a Bf16Conv where that precision is asked for, or a
// WindowProduct or a LineConv if the weights are constant and the shape allows one, else oneDNN's
// primitives (see ConvTiling). Where none of these helps, y[n, g] = W[g] · patches(x[n, g]) for
// every image n and group g is one GEMM each: the weights are not packed, the patches are written a
// panel at a time. Safe to call from many threads.
class Convolution {
 public:
  using Operands = TiledConv::Operands;

  // `constant_weights`: the weights are the same in every call.
  explicit Convolution(bool constant_weights) : tiled_(constant_weights) {}

  // Packs constant weights w [M, C/group, kernel..] of floats or halves. Calls differ from
  // `typical` only in the extents of x.
  absl::Status Prepare(const ConvShape& typical, const Tensor& w, bool bias,
                       const KernelContext& context);

  // y = w * x + bias. Scratch space comes from `allocator`; an interrupted run returns early and
  // leaves y unfinished. Precondition: y has elements.
  absl::Status Run(const ConvShape& shape, const Operands& operands, Allocator& allocator) const;

  // As Run, on the weights of Prepare, without reading `operands.w`; returns false, having done
  // nothing, if there are none or they do not serve the shape, which is absurd then.
  absl::StatusOr<bool> RunPrepared(const ConvShape& shape, const Operands& operands,
                                   Allocator& allocator) const;

  // The name and the arithmetic of its products. 1x1 kernels and short sums run as a GEMM on
  // patches.
  absl::string_view name() const {
    if (bf16_ != nullptr) return bf16_->name();
    if (lines_ != nullptr) return "highway";
    return product_ == nullptr ? "onednn or gemm" : product_->name();
  }
  Precision precision() const {
    if (bf16_ != nullptr) return Precision::kBfloat16;
    return product_ == nullptr ? Precision::kFloat32 : product_->precision();
  }

 private:
  // As RunPrepared, on packed weights alone.
  absl::StatusOr<bool> RunPacked(const ConvShape& shape, const Operands& operands,
                                 Allocator& allocator) const;
  static void MultiplyPatches(const ConvShape& shape, const Operands& operands);

  // Null as Bf16Conv::Make says, or if the weights are not constant.
  std::unique_ptr<const Bf16Conv> bf16_;
  // Null if the convolution is not such a product, or the weights are not constant.
  std::unique_ptr<const WindowProduct> product_;
  // Null if the convolution has many features, or the weights are not constant.
  std::unique_ptr<const LineConv> lines_;
  const TiledConv tiled_;
  // The weights as floats; undefined if bf16_ or product_ is set, which serve all shapes but absurd
  // ones, or the weights are not constant.
  Tensor floats_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_CONVOLUTION_H_
