// SPDX-License-Identifier: Apache-2.0
#include "ops/gather/along_axis.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/parallel.h"
#include "core/status.h"
#include "core/strided.h"
#include "ops/interface/infer_rules.h"
#include "ops/tensors/broadcast_tensor.h"
#include "ops/tensors/element_copy.h"
#include "ops/tensors/indices.h"
#include "ops/tensors/machine_word.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun::ops {
namespace {

// Reads rows of indices in place. If the row of each query is a part of one list of relative
// positions, all rows stay in the first-level cache.
class TakeAlongAxisKernel final : public Kernel {
 public:
  absl::string_view name() const override { return "copy"; }
  bool accepts_strided() const override { return true; }
  bool Accepts(const OpContext& context) const override {
    return IsMachineWord(context.input(0).type());
  }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const Shape shape, TakeAlongAxis::Resolve(context));
    const Tensor& indices = context.input(1);
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor data, context.input(0).Dense(context.allocator()));
    ATTNRUN_ASSIGN_OR_RETURN(const Shape strides, BroadcastStridesOf(indices, shape));
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, data.type(), shape));
    if (y->num_elements() == 0) return absl::OkStatus();
    WithWord(data.type(), [&](auto word) {
      using T = decltype(word);
      WithIndices(indices, [&](const auto* first) {
        TakeRows(data.data<T>(), data.dim(data.rank() - 1), first, shape, strides,
                 y->mutable_data<T>());
      });
    });
    return absl::OkStatus();
  }

 private:
  // Takes from rows of `extent` elements. `strides` are those of the indices over `shape`, y's.
  template <typename T, typename Index>
  static void TakeRows(const T* data, int64_t extent, const Index* indices, const Shape& shape,
                       const Shape& strides, T* y) {
    const int64_t count = shape.back();
    const int64_t step = strides.back();
    const int64_t rows = *NumElements(shape) / count;
    const auto leading = absl::MakeSpan(shape).first(shape.size() - 1);
    ParallelFor(rows, GrainOf(8 * count), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const Index* index = indices + OffsetOf(row, leading, strides);
        const T* from = data + row * extent;
        T* to = y + row * count;
        for (int64_t t = 0; t < count; ++t) to[t] = from[WrapIndex(index[t * step], extent)];
      }
    });
  }
};

}  // namespace

absl::StatusOr<Shape> TakeAlongAxis::Resolve(const OpContext& context) {
  const Tensor& data = context.input(0);
  const Tensor& indices = context.input(1);
  Shape shape = data.shape();
  if (!shape.empty() && indices.rank() > 0) {
    shape.back() = indices.dim(indices.rank() - 1);
    if (BroadcastStrides(indices.shape(), shape).ok()) {
      ATTNRUN_RETURN_IF_ERROR(CheckStridedIndices(indices, data.rank() - 1, data));
      return shape;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("expected indices [...,T] whose leading axes broadcast to those of the data ",
                   TypeAndShape(data), ", but found ", TypeAndShape(indices)));
}

absl::Status TakeAlongAxis::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const Shape shape, Resolve(context));
  const Tensor& data = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> indices, ToInts(context.input(1)));
  ATTNRUN_ASSIGN_OR_RETURN(const Shape strides, BroadcastStrides(context.input(1).shape(), shape));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, AllocateZeros(context, 0, data.type(), shape));
  const int64_t extent = data.dim(data.rank() - 1);
  int64_t at = 0;
  ForEachOffset(shape, strides, [&](int64_t offset) {
    const int64_t row = at / shape.back();
    CopyElement(data, row * extent + WrapIndex(indices[offset], extent), *y, at);
    ++at;
  });
  return absl::OkStatus();
}

void TakeAlongAxis::Infer(InferContext& context) const {
  std::optional<Dims> dims = context.input(0).dims;
  const std::optional<Dims>& indices = context.input(1).dims;
  if (dims.has_value() && !dims->empty()) {
    const bool known = indices.has_value() && !indices->empty();
    dims->back() = known ? indices->back() : SymInt::Unknown();
  }
  SetDims(context, 0, std::move(dims));
}

absl::StatusOr<std::unique_ptr<Kernel>> TakeAlongAxis::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<TakeAlongAxisKernel>();
}

}  // namespace attnrun::ops
