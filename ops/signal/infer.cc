// SPDX-License-Identifier: Apache-2.0
// Inference of signal operators.
#include <utility>

#include "ops/interface/axis_rules.h"
#include "ops/interface/infer_rules.h"
#include "ops/signal/dft.h"
#include "ops/signal/windows.h"

namespace attnrun::ops {
namespace {

// The number of frequencies, of `length`, that `one_sided` keeps.
SymInt Frequencies(const SymInt& length, bool one_sided) {
  return one_sided ? SymInt::Quotient(length, 2) + 1 : length;
}

}  // namespace

std::optional<size_t> Dft::KnownAxisOf(const KnownInputs& inputs, size_t rank) const {
  if (!axis_from_input_ || !inputs.has_input(2)) return KnownAxis(axis_, rank);
  const std::optional<SymInt> axis = OnlyElement(inputs, 2);
  if (!axis.has_value() || !axis->constant().has_value()) return std::nullopt;
  return KnownAxis(*axis->constant(), rank);
}

void Dft::Infer(InferContext& context) const {
  std::optional<Dims> dims = context.input(0).dims;
  SetDims(context, 0, std::nullopt);
  if (!dims.has_value() || dims->empty()) return;
  const std::optional<size_t> axis = KnownAxisOf(context, dims->size());
  if (!axis.has_value()) return SetDims(context, 0, UnknownDims(dims->size()));
  const bool mirrored = one_sided_ && inverse_;
  SymInt length = mirrored ? 2 * ((*dims)[*axis] - 1) : (*dims)[*axis];
  if (context.has_input(1)) length = OnlyElement(context, 1).value_or(SymInt::Unknown());
  (*dims)[*axis] = Frequencies(length, one_sided_ && !inverse_);
  dims->back() = mirrored ? 1 : 2;
  SetDims(context, 0, std::move(dims));
}

void Stft::Infer(InferContext& context) const {
  const Dims x = context.input(0).dims.value_or(UnknownDims(3));
  if (x.size() != 2 && x.size() != 3) return;
  SymInt length = x[1];
  if (context.has_input(3)) {
    length = OnlyElement(context, 3).value_or(SymInt::Unknown());
  } else if (context.has_input(2)) {
    const std::optional<Dims>& window = context.input(2).dims;
    length = window.has_value() ? Product(*window) : SymInt::Unknown();
  }
  const std::optional<SymInt> step = OnlyElement(context, 1);
  const SymInt frames =
      step.has_value() ? SymInt::Quotient(x[1] - length, *step) + 1 : SymInt::Unknown();
  SetDims(context, 0, Dims{x[0], frames, Frequencies(length, one_sided_), 2});
}

void CosineWindow::Infer(InferContext& context) const {
  context.SetOutput(
      0, {type_, Dims{OnlyElement(context, 0).value_or(SymInt::Unknown())}, std::nullopt});
}

void MelWeightMatrix::Infer(InferContext& context) const {
  const SymInt bands = OnlyElement(context, 0).value_or(SymInt::Unknown());
  const SymInt length = OnlyElement(context, 1).value_or(SymInt::Unknown());
  context.SetOutput(0, {type_, Dims{Frequencies(length, true), bands}, std::nullopt});
}

// All axes but the signal's and the last one, which holds real and imaginary parts.
void Dft::Axes(AxesContext& context) const {
  const size_t rank = RankOf(context, 0).value_or(0);
  const std::optional<size_t> along = KnownAxisOf(context, rank);
  if (!along.has_value()) return;
  AddSameAxes(context, [&](size_t axis) { return axis != *along && axis + 1 < rank; });
}

void Stft::Axes(AxesContext& context) const { context.Add({{0, 0}}, {{0, 0}}); }

}  // namespace attnrun::ops
