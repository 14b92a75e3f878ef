// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_SEARCH_ARG_H_
#define ATTNRUN_OPS_SEARCH_ARG_H_

#include <memory>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// ONNX ArgMax-1, -11, -12, -13 and ArgMin-1, -11, -12, -13: int64 indices of the greatest (least)
// elements along `axis`, which is kept with extent 1 if `keepdims`. The first of equal elements
// wins, or the last with `select_last_index` (from version 12 on). A NaN wins over every number.
class ArgOp final : public Op {
 public:
  ArgOp(AttributeReader& attributes, bool least);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  bool least_;
  int64_t axis_;
  bool keep_dims_;
  bool last_;
};

// The shape of the result. kInvalidArgument if the axis has no elements.
absl::StatusOr<Shape> ArgShape(const Tensor& data, int axis, bool keep_dims);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_SEARCH_ARG_H_
