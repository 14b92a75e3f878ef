// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/float_conv.h"

#include "core/status.h"
#include "ops/interface/optional_input.h"
#include "ops/tensors/float_operands.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {

const Tensor* ConvBias(const OpContext& context) { return OptionalInput(context, 2); }

bool HasFloatConvTypes(const OpContext& context) {
  const DataType type = context.input(0).type();
  const Tensor* const bias = ConvBias(context);
  return IsFloatOrHalf(type) && type == context.input(1).type() &&
         (bias == nullptr || bias->type() == type);
}

absl::StatusOr<Tensor> ConstantConvWeight(const KernelContext& context) {
  const Tensor& weight = context.constants[1];
  const bool is_float = weight.defined() && IsFloatOrHalf(weight.type());
  if (!is_float) return absl::StatusOr<Tensor>(absl::in_place);
  return ToFloat(weight, Allocator::Heap());
}

std::vector<float> TapsFirst(const float* w, int64_t features, int64_t channels, int64_t taps) {
  std::vector<float> rows(features * channels * taps);
  for (int64_t feature = 0; feature < features; ++feature) {
    for (int64_t channel = 0; channel < channels; ++channel) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        rows[(feature * taps + tap) * channels + channel] = *w++;
      }
    }
  }
  return rows;
}

absl::StatusOr<Tensor> TypicalConvInput(const Shape& x, const Tensor& w) {
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t count, NumElements(x));
  return Tensor::Borrow(DataType::kFloat, x, w.raw(), count * sizeof(float));
}

absl::Status RunFloatConv(
    OpContext& context, const Tensor& weight, const Shape& output,
    absl::FunctionRef<absl::Status(const TiledConv::Operands& operands)> convolve) {
  Allocator& allocator = context.allocator();
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor x, ToFloat(context.input(0), allocator));
  Tensor w = weight;
  if (!w.defined()) {
    ATTNRUN_ASSIGN_OR_RETURN(w, ToFloat(context.input(1), allocator));
  }
  Tensor bias;
  if (ConvBias(context) != nullptr) {
    ATTNRUN_ASSIGN_OR_RETURN(bias, ToFloat(*ConvBias(context), allocator));
  }
  ATTNRUN_ASSIGN_OR_RETURN(FloatOutput y,
                           FloatOutput::Allocate(context, 0, context.input(0).type(), output));
  if (y.num_elements() == 0) return absl::OkStatus();
  const auto* const b = bias.defined() ? bias.data<float>() : nullptr;
  ATTNRUN_RETURN_IF_ERROR(convolve({x.data<float>(), w.data<float>(), b, y.data()}));
  y.Store();
  return absl::OkStatus();
}

}  // namespace attnrun::ops
