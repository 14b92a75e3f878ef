// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_POOL_POOL_H_
#define ATTNRUN_OPS_POOL_POOL_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "ops/conv/sliding_window.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

enum class Pooling {
  kMax,
  kAverage,
  // (sum |x|^p)^(1/p)
  kLp,
};

struct PoolAttributes {
  Pooling pooling;
  // Nullopt: one window over the whole image.
  std::optional<WindowAttributes> window;
  // Average: elements of the padding count.
  bool count_include_pad = false;
  // Max: indices number an image's elements with the first spatial axis fastest.
  bool column_major = false;
  int64_t p = 2;
};

// ONNX MaxPool-1, -8, -10, -11, -12, -22; AveragePool-7, -10, -11, -19, -22; LpPool-2, -11, -18,
// -22; and, over all spatial axes, GlobalMaxPool-1, -22; GlobalAveragePool-1, -22; GlobalLpPool-2,
// -22. x [N, C, ..]; y[n, c, p] = the maximum, average or p-norm of the elements of x[n, c] in the
// window at p. Padding does not count, except with count_include_pad. MaxPool's second output is
// the index of each maximum in x, flattened; NaN is larger than any number. A window without
// elements gives -inf (the least integer) and index -1 as its maximum, NaN as its average and 0 as
// its norm.
class Pool final : public Op {
 public:
  Pool(AttributeReader& attributes, Pooling pooling, bool global);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  PoolAttributes attributes_;
};

struct PoolShape {
  SlidingWindow window;
  // The number of images, N x C.
  int64_t count;
  // Products of the spatial extents.
  int64_t input_size;
  int64_t output_size;
  // [N, C, ..]
  Shape output;
};

// kInvalidArgument as for ResolveWindow, and for element types that pooling does not take.
absl::StatusOr<PoolShape> ResolvePool(const PoolAttributes& attributes, const Tensor& x);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_POOL_POOL_H_
