// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_POOL_POOL_H_
#define ATTNRUN_OPS_POOL_POOL_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "ops/conv/window.h"
#include "ops/interface/op.h"
#include "ops/interface/registry.h"

namespace attnrun::ops {

enum class Pooling {
  kMax,
  kAverage,
  // (sum |x|^p)^(1/p)
  kLp,
};

struct PoolAttributes {
  Pooling pooling;
  // Absent: one window over the whole image.
  std::optional<WindowAttributes> window;
  // Average: whether elements of the padding count.
  bool count_include_pad = false;
  // Max: whether indices number an image's elements with the first spatial axis fastest.
  bool column_major = false;
  int64_t p = 2;
};

// ONNX MaxPool-1, -8, -10, -11, -12, -22; AveragePool-7, -10, -11, -19, -22; LpPool-2, -11, -18,
// -22; and over all spatial axes GlobalMaxPool-1, -22; GlobalAveragePool-1, -22; GlobalLpPool-2,
// -22. y[n, c, p] = the maximum, average or p-norm of what a window at p holds of x[n, c]; padding
// is no part of it unless count_include_pad says so. MaxPool's second output tells where in x (as
// one flat tensor) the maximum was; NaN is larger than any number. A window without any element
// gives -inf (the least integer) and index -1 as its maximum, NaN as its average and 0 as its norm.
class Pool final : public Op {
 public:
  Pool(AttributeReader& attributes, Pooling pooling, bool global);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(ConstantInputs constants) const override;

 private:
  PoolAttributes attributes_;
};

struct PoolShape {
  SlidingWindow window;
  // Images: N x C.
  int64_t count;
  // Products of the spatial extents.
  int64_t input_size;
  int64_t output_size;
  // [N, C, ..]
  Shape output;
};

// kInvalidArgument as ResolveWindow, and for element types that pooling does not have.
absl::StatusOr<PoolShape> ResolvePool(const PoolAttributes& attributes, const Tensor& x);

void RegisterPool(OpRegistry& registry);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_POOL_POOL_H_
