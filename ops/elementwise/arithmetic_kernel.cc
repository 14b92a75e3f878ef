// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <type_traits>

#include "core/elements.h"
#include "core/status.h"
#include "hwy/highway.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {

// Memory bandwidth is the limit, so wider instructions would gain nothing: one target is enough.
template <typename T>
RowFunction CommonRow(BinaryFunction function) {
  switch (function) {
    case BinaryFunction::kAdd:
      return Row2<T>([](auto /*d*/, auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
    case BinaryFunction::kSub:
      return Row2<T>([](auto /*d*/, auto a, auto b) HWY_ATTR { return hn::Sub(a, b); });
    case BinaryFunction::kMul:
      return Row2<T>([](auto /*d*/, auto a, auto b) HWY_ATTR { return hn::Mul(a, b); });
    default:
      return nullptr;
  }
}

template <typename T>
RowFunction FloatRow(BinaryFunction function) {
  switch (function) {
    case BinaryFunction::kDiv:
      return Row2<T>([](auto /*d*/, auto a, auto b) HWY_ATTR { return hn::Div(a, b); });
    case BinaryFunction::kMin:
      return Row2<T>([](auto /*d*/, auto a, auto b) HWY_ATTR {
        return hn::IfThenElse(hn::IsEitherNaN(a, b), hn::Add(a, b), hn::Min(a, b));
      });
    case BinaryFunction::kMax:
      return Row2<T>([](auto /*d*/, auto a, auto b) HWY_ATTR {
        return hn::IfThenElse(hn::IsEitherNaN(a, b), hn::Add(a, b), hn::Max(a, b));
      });
    case BinaryFunction::kPRelu:
      return Row2<T>([](auto d, auto a, auto b) HWY_ATTR {
        return hn::IfThenElse(hn::Lt(a, hn::Zero(d)), hn::Mul(a, b), a);
      });
    default:
      return CommonRow<T>(function);
  }
}

// Integers have no vector division. The divisor is not 0; the lowest integer divided by -1 wraps to
// itself.
template <typename T, BinaryFunction kFunction>
void DivideRow(const RowOperand* operands, void* out, size_t n, const RowParameters& /*unused*/) {
  const auto* a = static_cast<const T*>(operands[0].data);
  const auto* b = static_cast<const T*>(operands[1].data);
  auto* c = static_cast<T*>(out);
  for (size_t i = 0; i < n; ++i) {
    const T x = a[i & operands[0].mask];
    const T y = b[i & operands[1].mask];
    const T rest = y == -1 ? 0 : x % y;
    const bool rounds_up = rest != 0 && (rest < 0) != (y < 0);
    if constexpr (kFunction == BinaryFunction::kDiv || kFunction == BinaryFunction::kFloorDiv) {
      const T quotient =
          y == -1 ? static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(x)) : x / y;
      c[i] = kFunction == BinaryFunction::kFloorDiv && rounds_up ? quotient - 1 : quotient;
    } else {
      c[i] = kFunction == BinaryFunction::kFloorMod && rounds_up ? rest + y : rest;
    }
  }
}

template <typename T>
RowFunction IntegerRow(BinaryFunction function) {
  switch (function) {
    case BinaryFunction::kDiv:
      return DivideRow<T, BinaryFunction::kDiv>;
    case BinaryFunction::kFloorDiv:
      return DivideRow<T, BinaryFunction::kFloorDiv>;
    case BinaryFunction::kFloorMod:
      return DivideRow<T, BinaryFunction::kFloorMod>;
    case BinaryFunction::kTruncMod:
      return DivideRow<T, BinaryFunction::kTruncMod>;
    case BinaryFunction::kMin:
      return Row2<T>([](auto /*d*/, auto a, auto b) HWY_ATTR { return hn::Min(a, b); });
    case BinaryFunction::kMax:
      return Row2<T>([](auto /*d*/, auto a, auto b) HWY_ATTR { return hn::Max(a, b); });
    case BinaryFunction::kBitwiseAnd:
      return Row2<T>([](auto /*d*/, auto a, auto b) HWY_ATTR { return hn::And(a, b); });
    case BinaryFunction::kBitwiseOr:
      return Row2<T>([](auto /*d*/, auto a, auto b) HWY_ATTR { return hn::Or(a, b); });
    case BinaryFunction::kBitwiseXor:
      return Row2<T>([](auto /*d*/, auto a, auto b) HWY_ATTR { return hn::Xor(a, b); });
    default:
      return CommonRow<T>(function);
  }
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

namespace attnrun::ops {

RowProgram BinaryProgram(BinaryFunction function, DataType type) {
  const DataType compute = ComputeType(type);
  RowProgram program{.inputs = {compute, compute}, .output = compute};
  if (compute == DataType::kFloat) program.function = HWY_NAMESPACE::FloatRow<float>(function);
  if (compute == DataType::kDouble) program.function = HWY_NAMESPACE::FloatRow<double>(function);
  if (compute == DataType::kInt64) program.function = HWY_NAMESPACE::IntegerRow<int64_t>(function);
  if (compute == DataType::kInt32) program.function = HWY_NAMESPACE::IntegerRow<int32_t>(function);
  return program;
}

namespace {

class BinaryKernel final : public RowKernel {
 public:
  BinaryKernel(BinaryFunction function, TypeSet types) : function_(function), types_(types) {}

 protected:
  RowProgram Program(const OpContext& context) const override {
    const DataType type = context.input(0).type();
    if (!types_.Contains(type) || context.input(1).type() != type) return {};
    return BinaryProgram(function_, type);
  }
  absl::Status CheckValues(const OpContext& context) const override {
    if (function_ == BinaryFunction::kPRelu) return CheckSlope(context);
    return CheckDivisor(function_, context);
  }

 private:
  const BinaryFunction function_;
  const TypeSet types_;
};

// Folds the inputs into the output, two at a time.
class VariadicKernel final : public Kernel {
 public:
  VariadicKernel(BinaryFunction function, bool mean, TypeSet types)
      : function_(function), mean_(mean), types_(types) {}

  absl::string_view name() const override { return "highway"; }
  bool accepts_strided() const override { return true; }

  // The 16-bit floats would be rounded after every input.
  bool Accepts(const OpContext& context) const override {
    const DataType type = context.input(0).type();
    if (!types_.Contains(type) || !BinaryProgram(function_, type)) return false;
    for (int i = 0; i < context.num_inputs(); ++i) {
      if (!context.has_input(i) || context.input(i).type() != type) return false;
    }
    return ComputeType(type) == type || (context.num_inputs() == 2 && !mean_);
  }

  absl::Status Run(OpContext& context) const override {
    const DataType type = context.input(0).type();
    Shape shape = context.input(0).shape();
    for (int i = 1; i < context.num_inputs(); ++i) {
      if (context.input(i).shape() == shape) continue;
      ATTNRUN_ASSIGN_OR_RETURN(shape, BroadcastShapes(shape, context.input(i).shape()));
    }
    // The third and later inputs are read after the output has been written, so the output must not
    // take over an input's bytes.
    constexpr int kReusable[] = {0, 1};
    const absl::Span<const int> reusable(kReusable, context.num_inputs() > 2 ? 0 : 2);
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, type, shape, reusable));
    RowProgram first = BinaryProgram(function_, type);
    if (context.num_inputs() == 1) {
      first = {.function = ConvertRow(type, type), .inputs = {type}, .output = type};
      RunRows(first, {&context.input(0)}, *out);
    } else {
      RunRows(first, {&context.input(0), &context.input(1)}, *out);
    }
    for (int i = 2; i < context.num_inputs(); ++i) RunRows(first, {out, &context.input(i)}, *out);
    return mean_ ? Divide(*out, context.num_inputs()) : absl::OkStatus();
  }

 private:
  static absl::Status Divide(Tensor& sum, int divisor) {
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor count,
                             FromDoubles(sum.type(), {}, {static_cast<double>(divisor)}));
    RunRows(BinaryProgram(BinaryFunction::kDiv, sum.type()), {&sum, &count}, sum);
    return absl::OkStatus();
  }

  const BinaryFunction function_;
  const bool mean_;
  const TypeSet types_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> Binary::MakeKernel(const KernelContext& /*context*/) const {
  return std::make_unique<BinaryKernel>(function_, types_);
}

absl::StatusOr<std::unique_ptr<Kernel>> Variadic::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<VariadicKernel>(function_, mean_, types_);
}

}  // namespace attnrun::ops
