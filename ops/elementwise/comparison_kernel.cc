// SPDX-License-Identifier: Apache-2.0
#include "hwy/highway.h"
#include "ops/elementwise/comparison.h"
#include "ops/elementwise/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {

// c = F(a, b) as bytes 0 and 1, where F returns a mask of lanes.
template <typename T, class F>
void MapToBool(const RowOperand* operands, void* out, size_t n, const RowParameters& /*unused*/) {
  const hn::ScalableTag<T> d;
  const hn::RebindToUnsigned<decltype(d)> unsigned_lanes;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  const size_t lanes = hn::Lanes(d);
  const auto* a = static_cast<const T*>(operands[0].data);
  const auto* b = static_cast<const T*>(operands[1].data);
  auto* c = static_cast<uint8_t*>(out);
  for (size_t i = 0; i < n; i += lanes) {
    const T* from_a = a + (i & operands[0].mask);
    const T* from_b = b + (i & operands[1].mask);
    const size_t left = n - i;
    const bool whole = left >= lanes;
    const auto va = whole ? hn::LoadU(d, from_a) : hn::LoadN(d, from_a, left);
    const auto vb = whole ? hn::LoadU(d, from_b) : hn::LoadN(d, from_b, left);
    const auto ones =
        hn::IfThenElseZero(hn::RebindMask(unsigned_lanes, F{}(va, vb)), hn::Set(unsigned_lanes, 1));
    const auto result = hn::TruncateTo(bytes, ones);
    if (whole) {
      hn::StoreU(result, bytes, c + i);
    } else {
      hn::StoreN(result, bytes, c + i, left);
    }
  }
}

template <typename T, class F>
RowFunction ToBool(F /*function*/) {
  return MapToBool<T, F>;
}

template <typename T>
RowFunction OrderRow(ComparisonFunction function) {
  switch (function) {
    case ComparisonFunction::kEqual:
      return ToBool<T>([](auto a, auto b) HWY_ATTR { return hn::Eq(a, b); });
    case ComparisonFunction::kLess:
      return ToBool<T>([](auto a, auto b) HWY_ATTR { return hn::Lt(a, b); });
    case ComparisonFunction::kLessOrEqual:
      return ToBool<T>([](auto a, auto b) HWY_ATTR { return hn::Le(a, b); });
    case ComparisonFunction::kGreater:
      return ToBool<T>([](auto a, auto b) HWY_ATTR { return hn::Gt(a, b); });
    case ComparisonFunction::kGreaterOrEqual:
      return ToBool<T>([](auto a, auto b) HWY_ATTR { return hn::Ge(a, b); });
    default:
      return nullptr;
  }
}

// Makes an operand 0 or 1, as a file may hold other bytes.
template <class D, class V>
HWY_INLINE V Truth(D d, V x) {
  return hn::Min(x, hn::Set(d, 1));
}

RowFunction BoolRow(ComparisonFunction function) {
  switch (function) {
    case ComparisonFunction::kEqual:
      return Row2<uint8_t>([](auto d, auto a, auto b) HWY_ATTR {
        return hn::Xor(hn::Xor(Truth(d, a), Truth(d, b)), hn::Set(d, 1));
      });
    case ComparisonFunction::kAnd:
      return Row2<uint8_t>([](auto d, auto a, auto b)
                               HWY_ATTR { return hn::And(Truth(d, a), Truth(d, b)); });
    case ComparisonFunction::kOr:
      return Row2<uint8_t>([](auto d, auto a, auto b) HWY_ATTR { return Truth(d, hn::Or(a, b)); });
    case ComparisonFunction::kXor:
      return Row2<uint8_t>([](auto d, auto a, auto b)
                               HWY_ATTR { return hn::Xor(Truth(d, a), Truth(d, b)); });
    default:
      return nullptr;
  }
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

namespace attnrun::ops {
namespace {

class ComparisonKernel final : public RowKernel {
 public:
  ComparisonKernel(ComparisonFunction function, TypeSet types)
      : function_(function), types_(types) {}

 protected:
  RowProgram Program(const OpContext& context) const override {
    const DataType type = context.input(0).type();
    if (!types_.Contains(type) || context.input(1).type() != type) return {};
    const DataType compute = ComputeType(type);
    return {.function = Function(compute), .inputs = {compute, compute}, .output = DataType::kBool};
  }
  DataType OutputType(const OpContext& /*context*/) const override { return DataType::kBool; }

 private:
  RowFunction Function(DataType type) const {
    switch (type) {
      case DataType::kFloat:
        return HWY_NAMESPACE::OrderRow<float>(function_);
      case DataType::kDouble:
        return HWY_NAMESPACE::OrderRow<double>(function_);
      case DataType::kInt64:
        return HWY_NAMESPACE::OrderRow<int64_t>(function_);
      case DataType::kInt32:
        return HWY_NAMESPACE::OrderRow<int32_t>(function_);
      case DataType::kBool:
        return HWY_NAMESPACE::BoolRow(function_);
      default:
        return nullptr;
    }
  }

  const ComparisonFunction function_;
  const TypeSet types_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> Comparison::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<ComparisonKernel>(function_, types_);
}

}  // namespace attnrun::ops
