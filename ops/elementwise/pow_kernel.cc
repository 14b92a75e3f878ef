// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "hwy/highway.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {

// Unlike the square root, pow gives +0 for -0 and +infinity for -infinity.
RowFunction SquareRootRow() {
  return Row1<float>([](auto d, auto x, const RowParameters&) HWY_ATTR {
    const auto root = hn::Sqrt(hn::Add(x, hn::Zero(d)));
    return hn::IfThenElse(hn::Eq(x, hn::Neg(hn::Inf(d))), hn::Inf(d), root);
  });
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

namespace attnrun::ops {
namespace {

// Exponents that models use, one for all elements, have short formulas of their own; for others the
// C library computes one element at a time.
template <typename Function>
void ForEachBase(const RowOperand* operands, void* out, size_t n, Function power) {
  const auto* a = static_cast<const float*>(operands[0].data);
  auto* c = static_cast<float*>(out);
  if (operands[0].mask == kEachElement) {
    for (size_t i = 0; i < n; ++i) c[i] = power(a[i]);
  } else {
    for (size_t i = 0; i < n; ++i) c[i] = power(a[0]);
  }
}

void SquareRow(const RowOperand* operands, void* out, size_t n, const RowParameters& /*unused*/) {
  ForEachBase(operands, out, n, [](float x) { return x * x; });
}

void CubeRow(const RowOperand* operands, void* out, size_t n, const RowParameters& /*unused*/) {
  ForEachBase(operands, out, n, [](float x) { return x * x * x; });
}

void PowRow(const RowOperand* operands, void* out, size_t n, const RowParameters& /*unused*/) {
  const auto* a = static_cast<const float*>(operands[0].data);
  const auto* b = static_cast<const float*>(operands[1].data);
  auto* c = static_cast<float*>(out);
  for (size_t i = 0; i < n; ++i) {
    c[i] = std::pow(a[i & operands[0].mask], b[i & operands[1].mask]);
  }
}

RowFunction RowForExponent(const Tensor& exponent) {
  if (exponent.num_elements() != 1) return PowRow;
  float value = 0;
  if (exponent.type() == DataType::kFloat) {
    value = *exponent.data<float>();
  } else {
    const RowOperand element{exponent.raw(), kEachElement};
    ConvertRow(exponent.type(), DataType::kFloat)(&element, &value, 1, {});
  }
  if (value == 2) return SquareRow;
  if (value == 3) return CubeRow;
  if (value == 0.5F) return HWY_NAMESPACE::SquareRootRow();
  return PowRow;
}

class PowKernel final : public RowKernel {
 protected:
  RowProgram Program(const OpContext& context) const override {
    const Tensor& exponent = context.input(1);
    // A double exponent would lose digits that matter.
    const bool converts = kNumbers.Contains(exponent.type()) &&
                          exponent.type() != DataType::kDouble &&
                          ConvertRow(exponent.type(), DataType::kFloat) != nullptr;
    if (ComputeType(context.input(0).type()) != DataType::kFloat || !converts) return {};
    return {.function = RowForExponent(exponent),
            .inputs = {DataType::kFloat, DataType::kFloat},
            .output = DataType::kFloat,
            .grain = kGrainOfTranscendentals};
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> Pow::MakeKernel(const KernelContext& /*context*/) const {
  return std::make_unique<PowKernel>();
}

}  // namespace attnrun::ops
