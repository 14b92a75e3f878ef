// SPDX-License-Identifier: Apache-2.0
#include "core/status.h"
#include "ops/generate/range.h"

namespace attnrun::ops {
namespace {

// Wide: the type to compute in. It is unsigned for integers, whose products may wrap on the way.
template <typename T, typename Wide>
absl::Status Fill(OpContext& context) {
  const T start = *context.input(0).data<T>();
  const T delta = *context.input(2).data<T>();
  using Limits = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
  ATTNRUN_ASSIGN_OR_RETURN(
      const int64_t count,
      RangeLength(static_cast<Limits>(start), static_cast<Limits>(*context.input(1).data<T>()),
                  static_cast<Limits>(delta)));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, DataTypeOf<T>(), {count}));
  T* out = y->mutable_data<T>();
  const auto first = static_cast<Wide>(start);
  const auto step = static_cast<Wide>(delta);
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(first + static_cast<Wide>(i) * step);
  return absl::OkStatus();
}

class RangeKernel final : public Kernel {
 public:
  absl::string_view name() const override { return "fill"; }

  bool Accepts(const OpContext& context) const override {
    const DataType type = context.input(0).type();
    for (int i = 0; i < 3; ++i) {
      if (context.input(i).type() != type || context.input(i).num_elements() != 1) return false;
    }
    return type == DataType::kInt64 || type == DataType::kInt32 || type == DataType::kFloat;
  }

  absl::Status Run(OpContext& context) const override {
    switch (context.input(0).type()) {
      case DataType::kInt64:
        return Fill<int64_t, uint64_t>(context);
      case DataType::kInt32:
        return Fill<int32_t, uint64_t>(context);
      default:
        return Fill<float, double>(context);
    }
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> Range::MakeKernel(const KernelContext& /*context*/) const {
  return std::make_unique<RangeKernel>();
}

}  // namespace attnrun::ops
