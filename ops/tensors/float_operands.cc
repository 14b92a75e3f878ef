// SPDX-License-Identifier: Apache-2.0
#include "ops/tensors/float_operands.h"

#include "core/parallel.h"
#include "core/status.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

// The number of elements that are worth a thread of their own.
constexpr int64_t kGrain = 1 << 15;

}  // namespace

absl::StatusOr<Tensor> ToFloat(const Tensor& tensor, Allocator& allocator) {
  const bool is_half = tensor.type() != DataType::kFloat && IsFloatOrHalf(tensor.type());
  if (!is_half) return AsFloat(tensor, allocator);
  ATTNRUN_ASSIGN_OR_RETURN(Tensor floats,
                           Tensor::Allocate(DataType::kFloat, tensor.shape(), allocator));
  auto* const out = floats.mutable_data<float>();
  ParallelFor(tensor.num_elements(), kGrain, [&](int64_t begin, int64_t end) {
    ReadFloats(tensor, begin, end - begin, out + begin);
  });
  return floats;
}

absl::StatusOr<FloatOutput> FloatOutput::Allocate(OpContext& context, int index, DataType type,
                                                  absl::Span<const int64_t> shape) {
  FloatOutput result;
  ATTNRUN_ASSIGN_OR_RETURN(result.output_, context.AllocateOutput(index, type, shape));
  if (type == DataType::kFloat) {
    result.floats_ = *result.output_;
    return result;
  }
  ATTNRUN_ASSIGN_OR_RETURN(result.floats_,
                           Tensor::Allocate(DataType::kFloat, shape, context.allocator()));
  return result;
}

void FloatOutput::Store() {
  if (output_->type() == DataType::kFloat) return;
  ParallelFor(floats_.num_elements(), kGrain, [&](int64_t begin, int64_t end) {
    WriteFloats(floats_.data<float>() + begin, end - begin, *output_, begin);
  });
}

}  // namespace attnrun::ops
