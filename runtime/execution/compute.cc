// SPDX-License-Identifier: Apache-2.0
#include "execution/compute.h"

#include <iterator>

#include "core/exceptions.h"
#include "core/status.h"
#include "ops/tensors/float_operands.h"

namespace attnrun::exec {
namespace {

absl::Status MakeDense(absl::Span<Tensor> inputs, Allocator& allocator) {
  for (Tensor& input : inputs) {
    if (!input.is_dense()) {
      ATTNRUN_ASSIGN_OR_RETURN(input, input.Dense(allocator));
    }
  }
  return absl::OkStatus();
}

// The reference takes values that their producers rounded as the floats that they are declared as.
absl::Status WidenRounded(absl::Span<Tensor> inputs, const ops::OpContext& context) {
  for (int i = 0; i < std::ssize(inputs); ++i) {
    if (!context.is_rounded(i)) continue;
    ATTNRUN_ASSIGN_OR_RETURN(inputs[i], ops::ToFloat(inputs[i], context.allocator()));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> KernelOrReference(const Step& step, absl::Span<Tensor> inputs,
                                       ops::OpContext& context) {
  const ops::Kernel* kernel = step.kernel.get();
  if (kernel == nullptr || !kernel->accepts_strided()) {
    ATTNRUN_RETURN_IF_ERROR(MakeDense(inputs, context.allocator()));
  }
  if (kernel != nullptr && kernel->Accepts(context)) {
    ATTNRUN_RETURN_IF_ERROR(kernel->Run(context));
    return true;
  }
  ATTNRUN_RETURN_IF_ERROR(MakeDense(inputs, context.allocator()));
  ATTNRUN_RETURN_IF_ERROR(WidenRounded(inputs, context));
  ATTNRUN_RETURN_IF_ERROR(step.op->Reference(context));
  return false;
}

}  // namespace

absl::StatusOr<bool> Compute(const Step& step, absl::Span<Tensor> inputs, ops::OpContext& context) {
  return WithoutExceptions([&] { return KernelOrReference(step, inputs, context); });
}

}  // namespace attnrun::exec
