// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_SEARCH_TOPK_H_
#define ATTNRUN_OPS_SEARCH_TOPK_H_

#include <memory>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// ONNX TopK-1, -10, -11, -24: the k greatest (from version 11 on, with `largest` 0: least) elements
// along `axis`, in order, as output 0, and their int64 indices as output 1. Equal elements are
// ordered by index. A NaN is greater than every number. k is an attribute in version 1 and input 1
// (one int64) from version 10 on. With `sorted` 0 any order is allowed; attnrun sorts all the same.
class TopK final : public Op {
 public:
  explicit TopK(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  // k, checked against the axis.
  absl::StatusOr<int64_t> Count(const OpContext& context, int axis) const;
  int64_t axis() const { return axis_; }
  bool largest() const { return largest_; }

 private:
  bool from_input_;
  int64_t k_ = 0;
  int64_t axis_;
  bool largest_ = true;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_SEARCH_TOPK_H_
