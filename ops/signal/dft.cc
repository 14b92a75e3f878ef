// SPDX-License-Identifier: Apache-2.0
#include "ops/signal/dft.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/signal/fourier.h"
#include "ops/tensors/int_input.h"

namespace attnrun::ops {
namespace {

using Complex = FourierTransform::Complex;

// Scratch space for `count` numbers; an absurdly large count is an error.
template <typename T>
absl::StatusOr<Tensor> Scratch(OpContext& context, int64_t count) {
  return Tensor::Allocate(DataTypeOf<T>(), {count}, context.allocator());
}

// A signal as complex numbers, of one or two parts each.
absl::StatusOr<std::vector<Complex>> ReadSignal(const Tensor& x, int64_t width) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> parts, ToDoubles(x));
  std::vector<Complex> signal(parts.size() / width);
  for (size_t i = 0; i < signal.size(); ++i) {
    signal[i] = {parts[i * width], width == 2 ? parts[i * width + 1] : 0};
  }
  return signal;
}

bool HoldsSignal(const Tensor& x) {
  return IsFloatingPoint(x.type()) && x.rank() >= 2 &&
         (x.shape().back() == 1 || x.shape().back() == 2);
}

}  // namespace

Dft::Dft(AttributeReader& attributes)
    : axis_from_input_(attributes.version() >= 20),
      inverse_(attributes.Int("inverse", 0) != 0),
      one_sided_(attributes.Int("onesided", 0) != 0) {
  attributes.ExpectInputs(1, axis_from_input_ ? 3 : 2);
  if (!axis_from_input_) axis_ = attributes.Int("axis", 1);
}

absl::StatusOr<Dft::Layout> Dft::LayOut(const OpContext& context) const {
  const Tensor& x = context.input(0);
  int64_t wanted = axis_;
  if (axis_from_input_ && context.has_input(2)) {
    ATTNRUN_ASSIGN_OR_RETURN(wanted, ReadInt(context.input(2), "axis"));
  }
  ATTNRUN_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(wanted, x.rank()));
  if (!HoldsSignal(x) || axis == x.rank() - 1 ||
      (one_sided_ && x.shape().back() != (inverse_ ? 2 : 1))) {
    return absl::InvalidArgumentError(absl::StrCat("no ", inverse_ ? "inverse " : "",
                                                   one_sided_ ? "one-sided " : "", "transform of ",
                                                   TypeAndShape(x), " along axis ", wanted));
  }
  Layout layout;
  layout.read = x.dim(axis);
  layout.length = one_sided_ && inverse_ ? 2 * (layout.read - 1) : layout.read;
  if (context.has_input(1)) {
    ATTNRUN_ASSIGN_OR_RETURN(layout.length, ReadInt(context.input(1), "dft_length"));
  }
  if (layout.length < 1) {
    return absl::InvalidArgumentError(absl::StrCat("the transform of ", TypeAndShape(x),
                                                   " along axis ", wanted, " has length ",
                                                   layout.length, ", expected at least 1"));
  }
  layout.written = one_sided_ && !inverse_ ? layout.length / 2 + 1 : layout.length;
  layout.width = one_sided_ && inverse_ ? 1 : 2;
  layout.shape = x.shape();
  layout.shape[axis] = layout.written;
  layout.shape.back() = layout.width;
  for (int i = 0; i < x.rank() - 1; ++i) {
    if (i > axis) layout.step *= x.dim(i);
  }
  const int64_t numbers = x.num_elements() / x.shape().back();
  layout.lines = layout.read > 0 ? numbers / layout.read : 0;
  return layout;
}

absl::Status Dft::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const Layout layout, LayOut(context));
  const int64_t n = layout.length;
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Complex> signal,
                           ReadSignal(context.input(0), context.input(0).shape().back()));
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t count, NumElements(layout.shape));
  if (count == 0) {
    return context.AllocateOutput(0, context.input(0).type(), layout.shape).status();
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor roots, Scratch<Complex>(context, n));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor line, Scratch<Complex>(context, n));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor transformed, Scratch<Complex>(context, n));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor result, Scratch<double>(context, count));
  const FourierTransform transform({roots.mutable_data<Complex>(), static_cast<size_t>(n)},
                                   inverse_);
  auto* in = line.mutable_data<Complex>();
  auto* out = transformed.mutable_data<Complex>();
  auto* y = result.mutable_data<double>();
  std::fill_n(y, count, 0.0);
  // The missing part of a one-sided spectrum is its mirror image.
  const int64_t given = one_sided_ && inverse_ ? n / 2 + 1 : n;
  for (int64_t i = 0; i < layout.lines; ++i) {
    const int64_t outer = i / layout.step;
    const int64_t inner = i % layout.step;
    for (int64_t k = 0; k < given; ++k) {
      in[k] = k < layout.read ? signal[(outer * layout.read + k) * layout.step + inner] : 0;
    }
    for (int64_t k = given; k < n; ++k) in[k] = std::conj(in[n - k]);
    transform.Run(in, out);
    for (int64_t k = 0; k < layout.written; ++k) {
      const Complex value = inverse_ ? out[k] / static_cast<double>(n) : out[k];
      double* to = y + ((outer * layout.written + k) * layout.step + inner) * layout.width;
      to[0] = value.real();
      if (layout.width == 2) to[1] = value.imag();
    }
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor output,
                           FromDoubles(context.input(0).type(), layout.shape,
                                       {y, static_cast<size_t>(count)}, context.allocator()));
  context.SetOutput(0, std::move(output));
  return absl::OkStatus();
}

absl::StatusOr<Stft::Layout> Stft::LayOut(const OpContext& context) const {
  const Tensor& x = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t step, ReadInt(context.input(1), "frame_step"));
  // Exporters leave out the last axis of a real signal.
  const bool is_plain = IsFloatingPoint(x.type()) && x.rank() == 2;
  if (!is_plain && (!HoldsSignal(x) || x.rank() != 3)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the signal must be floats [batch, length, 1 or 2] or [batch, length], but is ",
        TypeAndShape(x)));
  }
  const int64_t window = context.has_input(2) ? context.input(2).num_elements() : 0;
  int64_t length = context.has_input(2) ? window : x.dim(1);
  if (context.has_input(3)) {
    ATTNRUN_ASSIGN_OR_RETURN(length, ReadInt(context.input(3), "frame_length"));
  }
  const bool fits = length >= 1 && length <= x.dim(1) && step >= 1;
  if (!fits || (window > 0 && window != length)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "frames of length ", length, " at steps of ", step, " do not fit ", TypeAndShape(x),
        window == 0 ? "" : absl::StrCat(" with a window of ", window)));
  }
  const int64_t frames = (x.dim(1) - length) / step + 1;
  const int64_t bins = one_sided_ ? length / 2 + 1 : length;
  return Layout{.width = is_plain ? 1 : x.dim(2),
                .length = length,
                // A longer step ends behind the only frame, too, and may not be multiplied.
                .step = std::min(step, x.dim(1)),
                .shape = {x.dim(0), frames, bins, 2}};
}

absl::Status Stft::Reference(OpContext& context) const {
  const Tensor& x = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(const Layout layout, LayOut(context));
  const int64_t length = layout.length;
  const int64_t frames = layout.shape[1];
  std::vector<double> window;
  if (context.has_input(2)) {
    ATTNRUN_ASSIGN_OR_RETURN(window, ToDoubles(context.input(2)));
  }
  window.resize(length, 1.0);
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Complex> signal, ReadSignal(x, layout.width));
  std::vector<Complex> roots(length);
  const FourierTransform transform(absl::MakeSpan(roots), /*inverse=*/false);
  std::vector<Complex> frame(length);
  std::vector<Complex> spectrum(length);
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t count, NumElements(layout.shape));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor result, Scratch<double>(context, count));
  auto* y = result.mutable_data<double>();
  for (int64_t i = 0; i < x.dim(0) * frames; ++i) {
    const int64_t start = i / frames * x.dim(1) + i % frames * layout.step;
    for (int64_t k = 0; k < length; ++k) frame[k] = signal[start + k] * window[k];
    transform.Run(frame.data(), spectrum.data());
    for (int64_t k = 0; k < layout.shape[2]; ++k) {
      *y++ = spectrum[k].real();
      *y++ = spectrum[k].imag();
    }
  }
  ATTNRUN_ASSIGN_OR_RETURN(
      Tensor output,
      FromDoubles(x.type(), layout.shape, {result.data<double>(), static_cast<size_t>(count)},
                  context.allocator()));
  context.SetOutput(0, std::move(output));
  return absl::OkStatus();
}

}  // namespace attnrun::ops
