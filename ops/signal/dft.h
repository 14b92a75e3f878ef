// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_SIGNAL_DFT_H_
#define ATTNRUN_OPS_SIGNAL_DFT_H_

#include <memory>
#include <optional>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// ONNX DFT-17, -20: the discrete Fourier transform of x [..., N, ..., 1 or 2], whose last axis
// holds real and imaginary parts, along `axis` (version 17: an attribute, default 1; from version
// 20 on: input 2, default -2). Input 1 is the length to which the signal is cut or filled with
// zeros. `onesided`: only frequencies 0 to length / 2 are written; with `inverse`, only those are
// read, and the result is real.
class Dft final : public Op {
 public:
  explicit Dft(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  // Lines of the data are transformed one at a time: `lines` lines, whose elements are `step`
  // numbers apart.
  struct Layout {
    int64_t lines = 0;
    int64_t step = 1;
    // The length of a line in the input, in the transform and in the output.
    int64_t read = 0;
    int64_t length = 0;
    int64_t written = 0;
    // 2: real and imaginary part are written; 1: only the real part.
    int64_t width = 2;
    Shape shape;
  };
  absl::StatusOr<Layout> LayOut(const OpContext& context) const;
  bool inverse() const { return inverse_; }
  // True if half of a spectrum is read, and the other half is its mirror image.
  bool mirrored() const { return one_sided_ && inverse_; }

 private:
  // The axis of the signal, below `rank`; nullopt if it differs between runs or is invalid.
  std::optional<size_t> KnownAxisOf(const KnownInputs& inputs, size_t rank) const;

  bool axis_from_input_;
  int64_t axis_ = -2;
  bool inverse_;
  bool one_sided_;
};

// ONNX STFT-17 (signal [B, L, 1 or 2] or [B, L], frame_step, window?, frame_length?) -> [B, frames,
// frequencies, 2]: the transforms of frames that are `frame_step` apart, each times the window
// (left out: ones). Frames have frame_length, or else the window's length, or else L. `onesided`
// (1): only frequencies 0 to length / 2.
class Stft final : public Op {
 public:
  explicit Stft(AttributeReader& attributes) : one_sided_(attributes.Int("onesided", 1) != 0) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  // Floats of a number of the signal, the length of a frame and the steps between frames.
  struct Layout {
    int64_t width;
    int64_t length;
    int64_t step;
    // [B, frames, frequencies, 2].
    Shape shape;
  };
  absl::StatusOr<Layout> LayOut(const OpContext& context) const;

 private:
  bool one_sided_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_SIGNAL_DFT_H_
