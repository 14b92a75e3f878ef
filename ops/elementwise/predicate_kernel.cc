// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "ops/elementwise/predicate.h"
#include "ops/elementwise/rows.h"

namespace attnrun::ops {
namespace {

// y = test(x), in a loop that the compiler vectorizes.
template <typename T, typename Test>
void TestRow(const RowOperand* operands, void* out, size_t n, Test test) {
  const auto* x = static_cast<const T*>(operands[0].data);
  auto* y = static_cast<uint8_t*>(out);
  if (operands[0].mask == kEachElement) {
    for (size_t i = 0; i < n; ++i) y[i] = test(x[i]) ? 1 : 0;
  } else {
    for (size_t i = 0; i < n; ++i) y[i] = test(x[0]) ? 1 : 0;
  }
}

void NotRow(const RowOperand* operands, void* out, size_t n, const RowParameters& /*unused*/) {
  TestRow<uint8_t>(operands, out, n, [](uint8_t x) { return x == 0; });
}

template <typename T>
void IsNaNRow(const RowOperand* operands, void* out, size_t n, const RowParameters& /*unused*/) {
  TestRow<T>(operands, out, n, [](T x) { return x != x; });
}

// `alpha` and `beta` are the infinities to find, or NaN, which equals nothing.
template <typename T>
void IsInfRow(const RowOperand* operands, void* out, size_t n, const RowParameters& parameters) {
  const T a = parameters.alpha;
  const T b = parameters.beta;
  TestRow<T>(operands, out, n, [=](T x) { return x == a || x == b; });
}

class PredicateKernel final : public RowKernel {
 public:
  PredicateKernel(PredicateFunction function, bool negative, bool positive) : function_(function) {
    using Limits = std::numeric_limits<float>;
    parameters_.alpha = negative ? -Limits::infinity() : Limits::quiet_NaN();
    parameters_.beta = positive ? Limits::infinity() : Limits::quiet_NaN();
  }

 protected:
  RowProgram Program(const OpContext& context) const override {
    const DataType compute = ComputeType(context.input(0).type());
    return {.function = RowFor(compute),
            .inputs = {compute},
            .output = DataType::kBool,
            .parameters = parameters_};
  }
  DataType OutputType(const OpContext& /*context*/) const override { return DataType::kBool; }

 private:
  // Null for a type that has no row.
  RowFunction RowFor(DataType type) const {
    const bool is_nan = function_ == PredicateFunction::kIsNaN;
    if (function_ == PredicateFunction::kNot) return type == DataType::kBool ? NotRow : nullptr;
    if (type == DataType::kFloat) return is_nan ? IsNaNRow<float> : IsInfRow<float>;
    if (type == DataType::kDouble) return is_nan ? IsNaNRow<double> : IsInfRow<double>;
    return nullptr;
  }

  const PredicateFunction function_;
  RowParameters parameters_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> Predicate::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<PredicateKernel>(function_, negative_, positive_);
}

}  // namespace attnrun::ops
