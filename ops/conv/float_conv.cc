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

Tensor ConstantConvWeight(const KernelContext& context) {
  const Tensor& weight = context.constants[1];
  return weight.defined() && IsFloatOrHalf(weight.type()) ? weight : Tensor();
}

DataType StoredConvType(const KernelContext& context) {
  const bool constant = context.constants.size() > 1 && context.constants[1].defined();
  return constant ? context.constants[1].type() : DataType::kFloat;
}

absl::StatusOr<const float*> FloatConvWeight::Get() {
  if (!floats_.defined()) {
    ATTNRUN_ASSIGN_OR_RETURN(floats_, ToFloat(context_.input(1), context_.allocator()));
  }
  return floats_.data<float>();
}

absl::StatusOr<Tensor> TypicalConvInput(const Shape& x, const Tensor& w) {
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t count, NumElements(x));
  return Tensor::Borrow(DataType::kFloat, x, w.raw(), count * sizeof(float));
}

absl::Status RunFloatConv(
    OpContext& context, const Shape& output,
    absl::FunctionRef<absl::Status(const TiledConv::Operands& operands)> convolve) {
  Allocator& allocator = context.allocator();
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor x, ToFloat(context.input(0), allocator));
  Tensor bias;
  if (ConvBias(context) != nullptr) {
    ATTNRUN_ASSIGN_OR_RETURN(bias, ToFloat(*ConvBias(context), allocator));
  }
  ATTNRUN_ASSIGN_OR_RETURN(FloatOutput y,
                           FloatOutput::Allocate(context, 0, context.input(0).type(), output));
  if (y.num_elements() == 0) return absl::OkStatus();
  const auto* const b = bias.defined() ? bias.data<float>() : nullptr;
  ATTNRUN_RETURN_IF_ERROR(convolve({x.data<float>(), nullptr, b, y.data()}));
  y.Store();
  return absl::OkStatus();
}

}  // namespace attnrun::ops
