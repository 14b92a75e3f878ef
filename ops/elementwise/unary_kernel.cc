// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/elementwise/unary_kernel.cc"
#include "hwy/foreach_target.h"
// Highway requires these includes after foreach_target.h.
#include "hwy/highway.h"
#include "ops/elementwise/rows-inl.h"
#include "ops/elementwise/unary.h"
#include "ops/tensors/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {

using P = RowParameters;

// Functions that are one or a few exact instructions.
template <typename T>
RowFunction ExactRow(UnaryFunction function) {
  switch (function) {
    case UnaryFunction::kAbs:
      return Row1<T>([](auto /*d*/, auto x, const P&) HWY_ATTR { return hn::Abs(x); });
    case UnaryFunction::kNeg:
      return Row1<T>([](auto /*d*/, auto x, const P&) HWY_ATTR { return hn::Neg(x); });
    case UnaryFunction::kSign:
      return Row1<T>([](auto d, auto x, const P&) HWY_ATTR {
        const auto one = hn::CopySign(hn::Set(d, T{1}), x);
        const auto ordered = hn::IfThenElseZero(hn::Ne(x, hn::Zero(d)), one);
        return hn::IfThenElse(hn::IsNaN(x), x, ordered);
      });
    case UnaryFunction::kCeil:
      return Row1<T>([](auto /*d*/, auto x, const P&) HWY_ATTR { return hn::Ceil(x); });
    case UnaryFunction::kFloor:
      return Row1<T>([](auto /*d*/, auto x, const P&) HWY_ATTR { return hn::Floor(x); });
    case UnaryFunction::kRound:
      return Row1<T>([](auto /*d*/, auto x, const P&) HWY_ATTR { return hn::Round(x); });
    case UnaryFunction::kSqrt:
      return Row1<T>([](auto /*d*/, auto x, const P&) HWY_ATTR { return hn::Sqrt(x); });
    case UnaryFunction::kReciprocal:
      return Row1<T>([](auto d, auto x, const P&)
                         HWY_ATTR { return hn::Div(hn::Set(d, T{1}), x); });
    default:
      return nullptr;
  }
}

RowFunction VectorUnaryRow(UnaryFunction function) {
  switch (function) {
    case UnaryFunction::kExp:
      return Row1<float>([](auto d, auto x, const P&) HWY_ATTR { return AnyExp(d, x); });
    case UnaryFunction::kLog:
      return Row1<float>([](auto d, auto x, const P&) HWY_ATTR { return AnyLog(d, x); });
    case UnaryFunction::kErf:
      return Row1<float>([](auto d, auto x, const P&) HWY_ATTR { return Erf(d, x); });
    case UnaryFunction::kSin:
      return Row1<float>([](auto d, auto x, const P&) HWY_ATTR { return AnySin(d, x); });
    case UnaryFunction::kCos:
      return Row1<float>([](auto d, auto x, const P&) HWY_ATTR { return AnyCos(d, x); });
    default:
      return ExactRow<float>(function);
  }
}

RowFunction VectorDoubleRow(UnaryFunction function) { return ExactRow<double>(function); }

RowFunction VectorIntegerRow(UnaryFunction function) {
  switch (function) {
    case UnaryFunction::kAbs:
      return Row1<int64_t>([](auto /*d*/, auto x, const P&) HWY_ATTR { return hn::Abs(x); });
    case UnaryFunction::kNeg:
      return Row1<int64_t>([](auto /*d*/, auto x, const P&) HWY_ATTR { return hn::Neg(x); });
    case UnaryFunction::kSign:
      return Row1<int64_t>([](auto d, auto x, const P&) HWY_ATTR {
        return hn::Max(hn::Min(x, hn::Set(d, 1)), hn::Set(d, -1));
      });
    case UnaryFunction::kBitwiseNot:
      return Row1<int64_t>([](auto /*d*/, auto x, const P&) HWY_ATTR { return hn::Not(x); });
    case UnaryFunction::kRelu:
      return Row1<int64_t>([](auto d, auto x, const P&)
                               HWY_ATTR { return hn::Max(x, hn::Zero(d)); });
    default:
      return nullptr;
  }
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <cmath>

namespace attnrun::ops {
namespace {

HWY_EXPORT(VectorUnaryRow);
HWY_EXPORT(VectorDoubleRow);
HWY_EXPORT(VectorIntegerRow);

// These are rare in the models attnrun is for, so each element is one library call.
template <float (*kFunction)(float)>
void CallRow(const RowOperand* operands, void* out, size_t n, const RowParameters& /*unused*/) {
  const auto* x = static_cast<const float*>(operands[0].data);
  auto* y = static_cast<float*>(out);
  for (size_t i = 0; i < n; ++i) y[i] = kFunction(x[i & operands[0].mask]);
}

RowFunction LibraryRow(UnaryFunction function) {
  switch (function) {
    case UnaryFunction::kTan:
      return CallRow<std::tan>;
    case UnaryFunction::kAsin:
      return CallRow<std::asin>;
    case UnaryFunction::kAcos:
      return CallRow<std::acos>;
    case UnaryFunction::kAtan:
      return CallRow<std::atan>;
    case UnaryFunction::kSinh:
      return CallRow<std::sinh>;
    case UnaryFunction::kCosh:
      return CallRow<std::cosh>;
    case UnaryFunction::kAsinh:
      return CallRow<std::asinh>;
    case UnaryFunction::kAcosh:
      return CallRow<std::acosh>;
    case UnaryFunction::kAtanh:
      return CallRow<std::atanh>;
    default:
      return nullptr;
  }
}

class UnaryKernel final : public RowKernel {
 public:
  UnaryKernel(UnaryFunction function, const UnaryParameters& parameters, TypeSet types)
      : types_(types), parameters_{parameters.alpha, parameters.beta, parameters.gamma} {
    on_floats_ = HWY_DYNAMIC_DISPATCH(VectorUnaryRow)(function);
    if (on_floats_ == nullptr) on_floats_ = ActivationRow(function);
    if (on_floats_ == nullptr) on_floats_ = LibraryRow(function);
    on_doubles_ = HWY_DYNAMIC_DISPATCH(VectorDoubleRow)(function);
    on_integers_ = HWY_DYNAMIC_DISPATCH(VectorIntegerRow)(function);
  }

 protected:
  RowProgram Program(const OpContext& context) const override {
    const DataType type = context.input(0).type();
    if (!types_.Contains(type)) return {};
    const DataType compute = ComputeType(type);
    switch (compute) {
      case DataType::kFloat:
        return ProgramIn(compute, on_floats_);
      case DataType::kDouble:
        return ProgramIn(compute, on_doubles_);
      case DataType::kInt32:
      case DataType::kInt64:
        return ProgramIn(DataType::kInt64, on_integers_);
      default:
        return {};
    }
  }

 private:
  RowProgram ProgramIn(DataType type, RowFunction function) const {
    return {.function = function,
            .inputs = {type},
            .output = type,
            .parameters = parameters_,
            .grain = kGrainOfTranscendentals};
  }

  const TypeSet types_;
  const RowParameters parameters_;
  RowFunction on_floats_ = nullptr;
  RowFunction on_doubles_ = nullptr;
  RowFunction on_integers_ = nullptr;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> Unary::MakeKernel(const KernelContext& /*context*/) const {
  return std::make_unique<UnaryKernel>(function_, parameters_, types_);
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
