// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_PRECISION_REPORT_H_
#define ATTNRUN_PRECISION_REPORT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attnrun/export.h"
#include "attnrun/precision.h"
#include "attnrun/tensor.h"

namespace attnrun {

// The difference of a tensor from the one that float32 gives, over all elements, in double.
// Elements that are both NaN or the same infinity do not differ and are left out of all figures.
// Where one element alone is not finite, or two infinities differ, `largest` and `rms` are infinite
// and `cosine` is 0.
struct PrecisionError {
  // The reason if the tensors cannot be compared, and then all figures are 0: their shapes differ,
  // which may happen where a shape depends on values, or they hold strings or complex numbers.
  std::string incomparable;
  // The largest absolute difference.
  double largest = 0;
  // The root of the mean square of the differences.
  double rms = 0;
  // The root of the mean square of the float32 values.
  double float32_rms = 0;
  // The cosine similarity of the whole tensors: 1 if both are all zero, 0 if only one is.
  double cosine = 0;

  // rms / float32_rms; 0 if nothing differs, infinite if only the float32 values are all zero.
  ATTNRUN_EXPORT double relative_rms() const;
};

// An output of the model, in both runs.
struct OutputPrecision {
  std::string name;
  Tensor float32;
  Tensor lower;
  PrecisionError error;
};

// A node whose kernel computes in the lower precision.
struct LayerPrecision {
  std::string node;
  std::string op_type;
  // The name of the kernel, as in ProfileEvent.
  std::string kernel;
  // The value that is compared: the node's first output.
  std::string output;
  // The node's own error: both kernels are given the inputs of the float32 run.
  PrecisionError own;
  // The difference between the two runs, so also the errors of the layers before.
  PrecisionError accumulated;
};

// The precision that a session chose for one product.
struct ProductPrecision {
  std::string node;
  std::string op_type;
  Precision precision = Precision::kFloat32;
  // Why it is finer than the session's; empty if it is not.
  std::string reason;
};

// The difference of a precision from float32, on one set of inputs; see Session::MeasurePrecision.
struct PrecisionReport {
  Precision precision = Precision::kFloat32;
  // See Session::ProductPrecisions.
  std::vector<ProductPrecision> products;
  // In the model's order.
  std::vector<OutputPrecision> outputs;
  // In the order of execution. Nodes in the bodies of If, Loop and Scan are left out, although they
  // compute in the lower precision, too.
  std::vector<LayerPrecision> layers;
  // The place in `layers` of the one that contributes most: its own error has the largest
  // relative_rms(), and it is the first of these. None if no layer has an error of its own.
  std::optional<size_t> worst_layer;
};

}  // namespace attnrun

#endif  // ATTNRUN_PRECISION_REPORT_H_
