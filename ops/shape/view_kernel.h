// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_SHAPE_VIEW_KERNEL_H_
#define ATTNRUN_OPS_SHAPE_VIEW_KERNEL_H_

#include <utility>

#include "ops/interface/op.h"

namespace attnrun::ops {

// The kernel of an operator that computes no element: it reads shapes only, or shares bytes. Its
// reference code is as fast as any, and there is nothing to check against it.
template <typename OpClass>
class ViewKernel final : public Kernel {
 public:
  // `strided`: the operator takes inputs of any strides.
  ViewKernel(OpClass op, bool strided) : op_(std::move(op)), strided_(strided) {}

  absl::string_view name() const override { return "view"; }
  bool Accepts(const OpContext& /*context*/) const override { return true; }
  bool accepts_strided() const override { return strided_; }
  absl::Status Run(OpContext& context) const override { return op_.Reference(context); }

 private:
  const OpClass op_;
  const bool strided_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_SHAPE_VIEW_KERNEL_H_
