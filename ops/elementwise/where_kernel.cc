// SPDX-License-Identifier: Apache-2.0
#include "hwy/highway.h"
#include "ops/elementwise/rows.h"
#include "ops/elementwise/where.h"
#include "ops/elementwise/where_in_place.h"
#include "ops/interface/type_set.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// T is any type of the elements' width, as they are only moved.
template <typename T>
void SelectRow(const RowOperand* operands, void* out, size_t n, const RowParameters& /*unused*/) {
  const hn::ScalableTag<T> d;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  const size_t lanes = hn::Lanes(d);
  const auto* condition = static_cast<const uint8_t*>(operands[0].data);
  const auto* x = static_cast<const T*>(operands[1].data);
  const auto* y = static_cast<const T*>(operands[2].data);
  auto* result = static_cast<T*>(out);
  const auto mask = [&](auto raw) HWY_ATTR {
    if constexpr (sizeof(T) == 1) {
      return hn::Ne(raw, hn::Zero(d));
    } else {
      return hn::Ne(hn::PromoteTo(d, raw), hn::Zero(d));
    }
  };
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto chosen = mask(hn::LoadU(bytes, condition + (i & operands[0].mask)));
    hn::StoreU(hn::IfThenElse(chosen, hn::LoadU(d, x + (i & operands[1].mask)),
                              hn::LoadU(d, y + (i & operands[2].mask))),
               d, result + i);
  }
  for (; i < n; ++i) {
    result[i] =
        condition[i & operands[0].mask] != 0 ? x[i & operands[1].mask] : y[i & operands[2].mask];
  }
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

namespace attnrun::ops {
namespace {

RowFunction SelectRowOf(int bits) {
  switch (bits) {
    case 8:
      return HWY_NAMESPACE::SelectRow<uint8_t>;
    case 16:
      return HWY_NAMESPACE::SelectRow<uint16_t>;
    case 32:
      return HWY_NAMESPACE::SelectRow<uint32_t>;
    case 64:
      return HWY_NAMESPACE::SelectRow<uint64_t>;
    default:
      return nullptr;
  }
}

class WhereKernel final : public RowKernel {
 public:
  absl::Status Run(OpContext& context) const override {
    return WhereInPlace(context) ? absl::OkStatus() : RowKernel::Run(context);
  }

 protected:
  RowProgram Program(const OpContext& context) const override {
    const DataType type = context.input(1).type();
    const bool agree =
        context.input(0).type() == DataType::kBool && context.input(2).type() == type;
    if (!agree || !(kNumbers | kBools).Contains(type)) return {};
    return {.function = SelectRowOf(BitWidth(type)),
            .inputs = {DataType::kBool, type, type},
            .output = type};
  }
  DataType OutputType(const OpContext& context) const override { return context.input(1).type(); }
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> Where::MakeKernel(const KernelContext& /*context*/) const {
  return std::make_unique<WhereKernel>();
}

}  // namespace attnrun::ops
