// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_SIGNAL_WINDOWS_H_
#define ATTNRUN_OPS_SIGNAL_WINDOWS_H_

#include <array>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// ONNX HannWindow-17, HammingWindow-17 and BlackmanWindow-17 (size): w[n] = a0 - a1 cos(2 pi n / N)
// + a2 cos(4 pi n / N) for n in [0, size), where N is size (`periodic`) or size - 1. A symmetric
// window of one point is 1.
class CosineWindow final : public Op {
 public:
  CosineWindow(AttributeReader& attributes, std::array<double, 3> coefficients)
      : coefficients_(coefficients),
        periodic_(attributes.Int("periodic", 1) != 0),
        type_(attributes.ElementType("output_datatype", DataType::kFloat)) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;

 private:
  std::array<double, 3> coefficients_;
  bool periodic_;
  DataType type_;
};

// ONNX MelWeightMatrix-17 (num_mel_bins, dft_length, sample_rate, lower_edge_hertz,
// upper_edge_hertz) -> [dft_length / 2 + 1, num_mel_bins]: triangles of height 1 that sum the bins
// of a spectrum, evenly spaced on the scale mel(f) = 2595 log10(1 + f / 700) between two edges.
// Bands are cut off where they reach beyond the spectrum.
class MelWeightMatrix final : public Op {
 public:
  explicit MelWeightMatrix(AttributeReader& attributes)
      : type_(attributes.ElementType("output_datatype", DataType::kFloat)) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;

 private:
  DataType type_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_SIGNAL_WINDOWS_H_
