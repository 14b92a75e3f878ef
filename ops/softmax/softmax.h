// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_SOFTMAX_SOFTMAX_H_
#define ATTNRUN_OPS_SOFTMAX_SOFTMAX_H_

#include <memory>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// A tensor as [outer, length, inner]: the sum runs along `length`.
struct SoftmaxShape {
  int64_t outer = 1;
  int64_t length = 1;
  int64_t inner = 1;
};

// The common part of Softmax, LogSoftmax and Hardmax: x of floats and an axis. Before version 13
// the input is first flattened to 2-D at `axis`, so that the sum runs over `axis` and all axes
// after it.
class SoftmaxAxis {
 public:
  explicit SoftmaxAxis(AttributeReader& attributes);
  absl::StatusOr<SoftmaxShape> Resolve(const Tensor& x) const;
  // Adds all axes but those that the sum runs over.
  void AddAxes(AxesContext& context) const;

 private:
  int64_t axis_;
  // True before version 13.
  bool flatten_;
};

// ONNX Softmax-1, -11, -13 and LogSoftmax-1, -11, -13: y = exp(x) / sum(exp(x)) over `axis`, and
// its logarithm. A slice that is -inf everywhere gives NaN.
class Softmax final : public Op {
 public:
  Softmax(AttributeReader& attributes, bool logarithm) : axis_(attributes), logarithm_(logarithm) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  SoftmaxAxis axis_;
  bool logarithm_;
};

// ONNX Hardmax-1, -11, -13: 1 for the first greatest element along `axis`, 0 for the others.
class Hardmax final : public Op {
 public:
  explicit Hardmax(AttributeReader& attributes) : axis_(attributes) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;

 private:
  SoftmaxAxis axis_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_SOFTMAX_SOFTMAX_H_
