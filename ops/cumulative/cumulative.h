// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CUMULATIVE_CUMULATIVE_H_
#define ATTNRUN_OPS_CUMULATIVE_CUMULATIVE_H_

#include <memory>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// ONNX CumSum-11, -14 and CumProd-26 (x, axis): y[j] = x[0] + ... + x[j] along `axis` (one
// integer), or their product. `exclusive`: only up to x[j - 1]; `reverse`: from the end. x has any
// type of numbers but bool; float16 and bfloat16 from version 14 on.
class Cumulative final : public Op {
 public:
  Cumulative(AttributeReader& attributes, bool product)
      : product_(product),
        exclusive_(attributes.Int("exclusive", 0) != 0),
        reverse_(attributes.Int("reverse", 0) != 0) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  bool product_;
  bool exclusive_;
  bool reverse_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CUMULATIVE_CUMULATIVE_H_
