// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "core/status.h"
#include "ops/movement/concat.h"
#include "ops/movement/strided_view.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun::ops {
namespace {

// For every index of the axes before `axis`, each input contributes one run of bytes.
class ConcatKernel final : public Kernel {
 public:
  explicit ConcatKernel(Concat op) : op_(std::move(op)) {}

  absl::string_view name() const override { return "copy"; }
  bool Accepts(const OpContext& context) const override { return MovesInputAsBytes(context); }
  bool accepts_strided() const override { return true; }

  absl::Status Run(OpContext& context) const override {
    const Tensor& first = context.input(0);
    ATTNRUN_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op_.axis(), first.rank()));
    ATTNRUN_ASSIGN_OR_RETURN(const Shape shape, op_.Join(context, axis));
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, first.type(), shape));
    if (y->num_elements() == 0) return absl::OkStatus();
    const int width = BitWidth(first.type()) / 8;
    const Shape strides = DenseStrides(shape);
    auto* out = y->mutable_data<char>();
    for (int i = 0; i < context.num_inputs(); ++i) {
      const Tensor& x = context.input(i);
      CopyStrided(width, x.shape(), x.raw(), StridesOf(x), out, strides);
      out += x.dim(axis) * strides[axis] * width;
    }
    return absl::OkStatus();
  }

 private:
  const Concat op_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> Concat::MakeKernel(const KernelContext& /*context*/) const {
  return std::make_unique<ConcatKernel>(*this);
}

}  // namespace attnrun::ops
