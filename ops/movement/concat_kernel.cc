// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <utility>

#include "core/room.h"
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
    if (std::optional<Grown> grown = Grow(first, axis, shape[axis] - first.dim(axis))) {
      CopyInputs(context, 1, axis, StridesOf(grown->tensor), grown->added);
      context.SetOutput(0, std::move(grown->tensor));
      return absl::OkStatus();
    }
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, first.type(), shape));
    CopyInputs(context, 0, axis, DenseStrides(shape), y->mutable_raw());
    return absl::OkStatus();
  }

 private:
  // Copies the inputs from number `begin` on behind each other.
  static void CopyInputs(const OpContext& context, int begin, int axis, const Shape& strides,
                         void* to) {
    const int width = BitWidth(context.input(0).type()) / 8;
    auto* out = static_cast<char*>(to);
    for (int i = begin; i < context.num_inputs(); ++i) {
      const Tensor& x = context.input(i);
      if (x.num_elements() > 0) CopyStrided(width, x.shape(), x.raw(), StridesOf(x), out, strides);
      out += x.dim(axis) * strides[axis] * width;
    }
  }

  const Concat op_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> Concat::MakeKernel(const KernelContext& /*context*/) const {
  return std::make_unique<ConcatKernel>(*this);
}

}  // namespace attnrun::ops
