// SPDX-License-Identifier: Apache-2.0
// Inference of the types and extents of pooling.
#include <utility>

#include "ops/conv/infer.h"
#include "ops/interface/axis_rules.h"
#include "ops/pool/pool.h"

namespace attnrun::ops {

void Pool::Infer(InferContext& context) const {
  const std::optional<Dims>& x = context.input(0).dims;
  std::optional<Dims> dims;
  if (x.has_value() && x->size() >= (attributes_.window.has_value() ? 3 : 2)) {
    dims = Dims{(*x)[0], (*x)[1]};
    Dims spatial(x->size() - 2, 1);
    if (attributes_.window.has_value()) {
      const std::vector<int64_t>& kernel = attributes_.window->kernel_shape;
      spatial = InferWindow(context, *attributes_.window, *x, Dims(kernel.begin(), kernel.end()));
    }
    dims->insert(dims->end(), spatial.begin(), spatial.end());
  }
  SetDims(context, 0, dims);
  context.SetOutput(1, {DataType::kInt64, std::move(dims), std::nullopt});
}

// The indices in output 1 count over all samples and channels, so no axis passes through there.
void Pool::Axes(AxesContext& context) const {
  if (context.has_output(1)) return;
  AddSameAxes(context, [](size_t axis) { return axis < 2; });
}

}  // namespace attnrun::ops
