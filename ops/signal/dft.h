// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_SIGNAL_DFT_H_
#define ATTNRUN_OPS_SIGNAL_DFT_H_

#include <optional>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// ONNX DFT-17, -20: the discrete Fourier transform of x [..., N, ..., 1 or 2], whose last axis
// holds real and imaginary parts, along `axis` (an attribute, 1, in version 17; input 2, -2, from
// 20 on). Input 1 is the length: the signal is cut or filled with zeros to it. `onesided`: only
// frequencies 0 to length / 2 are written; with `inverse`, those are what is read and the result is
// real.
class Dft final : public Op {
 public:
  explicit Dft(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;

 private:
  struct Layout;
  absl::StatusOr<Layout> LayOut(const OpContext& context) const;
  // The axis of the signal, of `rank` axes; nullopt if it differs between runs or is none of them.
  std::optional<size_t> KnownAxisOf(const KnownInputs& inputs, size_t rank) const;

  bool axis_from_input_;
  int64_t axis_ = -2;
  bool inverse_;
  bool one_sided_;
};

// ONNX STFT-17: frames of a signal [B, L, 1 or 2], `frame_step` (input 1) apart and each times the
// window (input 2, ones if left out), transformed: [B, frames, frequencies, 2]. Their length is
// input 3, or the window's, or L. `onesided` (1): only frequencies 0 to length / 2.
class Stft final : public Op {
 public:
  explicit Stft(AttributeReader& attributes) : one_sided_(attributes.Int("onesided", 1) != 0) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;

 private:
  bool one_sided_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_SIGNAL_DFT_H_
