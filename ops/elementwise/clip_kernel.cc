// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "core/status.h"
#include "hwy/highway.h"
#include "ops/elementwise/clip.h"
#include "ops/elementwise/rows-inl.h"
#include "ops/interface/type_set.h"
#include "ops/tensors/vector_activation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {

// Comparisons and selections, which let NaN pass.
RowFunction ClipFloats() {
  return Row1<float>([](auto d, auto x, const RowParameters& p)
                         HWY_ATTR { return ClipTo(d, x, p.alpha, p.beta); });
}

RowFunction ClipIntegers() {
  return Row1<int64_t>([](auto d, auto x, const RowParameters& p) HWY_ATTR {
    return hn::Min(hn::Max(x, hn::Set(d, p.low)), hn::Set(d, p.high));
  });
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

namespace attnrun::ops {
namespace {

// Sets `bound` to the only element of input i, if it is given.
template <typename T>
void ReadBound(const OpContext& context, int i, T& bound) {
  if (!context.has_input(i)) return;
  const RowOperand element{context.input(i).raw(), kEachElement};
  ConvertRow(context.input(i).type(), DataTypeOf<T>())(&element, &bound, 1, {});
}

// The largest finite number of the type, by which a missing bound is replaced.
float MissingBound(DataType type) {
  if (type == DataType::kFloat16) return 65504;
  return type == DataType::kBfloat16 ? 0x1.FEp127F : std::numeric_limits<float>::max();
}

class ClipKernel final : public RowKernel {
 public:
  ClipKernel(bool bounds_are_attributes, float low, float high)
      : bounds_are_attributes_(bounds_are_attributes), low_(low), high_(high) {}

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_RETURN_IF_ERROR(CheckClipBounds(context));
    const Tensor& x = context.input(0);
    RowProgram program = Program(context);
    RowParameters& p = program.parameters;
    p.beta = bounds_are_attributes_ ? high_ : MissingBound(x.type());
    p.alpha = bounds_are_attributes_ ? low_ : -p.beta;
    p.low = std::numeric_limits<int64_t>::lowest();
    p.high = std::numeric_limits<int64_t>::max();
    if (program.output == DataType::kFloat) {
      ReadBound(context, 1, p.alpha);
      ReadBound(context, 2, p.beta);
    } else {
      ReadBound(context, 1, p.low);
      ReadBound(context, 2, p.high);
    }
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, x.type(), x.shape(), {0}));
    RunRows(program, {&x}, *y);
    return absl::OkStatus();
  }

 protected:
  RowProgram Program(const OpContext& context) const override {
    const DataType type = context.input(0).type();
    const DataType compute = type == DataType::kInt32 ? DataType::kInt64 : ComputeType(type);
    if (!kNumbers.Contains(type)) return {};
    if (compute == DataType::kFloat) {
      return {.function = HWY_NAMESPACE::ClipFloats(), .inputs = {compute}, .output = compute};
    }
    if (compute != DataType::kInt64 || bounds_are_attributes_) return {};
    return {.function = HWY_NAMESPACE::ClipIntegers(), .inputs = {compute}, .output = compute};
  }

 private:
  const bool bounds_are_attributes_;
  const float low_;
  const float high_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> Clip::MakeKernel(const KernelContext& /*context*/) const {
  return std::make_unique<ClipKernel>(bounds_are_attributes_, low_, high_);
}

}  // namespace attnrun::ops
