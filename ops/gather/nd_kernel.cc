// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "core/parallel.h"
#include "core/status.h"
#include "ops/gather/cache_copy.h"
#include "ops/gather/nd.h"
#include "ops/gather/scatter_combine.h"
#include "ops/movement/strided_view.h"
#include "ops/tensors/indices.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun::ops {
namespace {

using Offsets = absl::InlinedVector<int64_t, 16>;

// The offset in bytes of each tuple's slice in the data.
template <typename Index>
absl::StatusOr<Offsets> ByteOffsets(const Tensor& data, const Index* indices,
                                    const TupleLayout& layout) {
  const int width = BitWidth(data.type()) / 8;
  const Shape strides = DenseStrides(data.shape());
  int64_t batches = 1;
  for (int i = 0; i < layout.batch_axes; ++i) batches *= data.dim(i);
  const int64_t per_batch = batches > 0 ? layout.tuples / batches : 0;
  const int64_t batch_stride = layout.batch_axes > 0 ? strides[layout.batch_axes - 1] : 0;
  Offsets offsets(layout.tuples);
  int64_t t = 0;
  for (int64_t batch = 0; batch < batches; ++batch) {
    for (int64_t n = 0; n < per_batch; ++n, ++t) {
      int64_t offset = batch * batch_stride;
      for (int axis = layout.batch_axes; axis < layout.batch_axes + layout.length; ++axis) {
        const int64_t index = *indices++;
        const int64_t extent = data.dim(axis);
        if (index < -extent || index >= extent) return IndexOutside(index, axis, data);
        offset += WrapIndex(index, extent) * strides[axis];
      }
      offsets[t] = offset * width;
    }
  }
  return offsets;
}

absl::StatusOr<Offsets> ByteOffsets(const Tensor& data, const Tensor& indices,
                                    const TupleLayout& layout) {
  return WithIndices(indices,
                     [&](const auto* values) { return ByteOffsets(data, values, layout); });
}

// Bytes: the size of a slice if known at compile time, else 0.
template <int64_t Bytes>
void GatherSlices(const char* from, const Offsets& offsets, int64_t bytes, char* to, int64_t begin,
                  int64_t end) {
  const int64_t size = Bytes > 0 ? Bytes : bytes;
  for (int64_t i = begin; i < end; ++i) std::memcpy(to + i * size, from + offsets[i], size);
}

class GatherNDKernel final : public Kernel {
 public:
  explicit GatherNDKernel(int64_t batch_dims) : batch_dims_(batch_dims) {}

  absl::string_view name() const override { return "copy"; }
  bool Accepts(const OpContext& context) const override { return MovesInputAsBytes(context); }

  absl::Status Run(OpContext& context) const override {
    const Tensor& data = context.input(0);
    ATTNRUN_ASSIGN_OR_RETURN(const TupleLayout layout,
                             LayOutTuples(data, context.input(1), batch_dims_));
    ATTNRUN_ASSIGN_OR_RETURN(const Offsets offsets, ByteOffsets(data, context.input(1), layout));
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, data.type(), layout.shape));
    if (y->num_elements() == 0) return absl::OkStatus();
    const int64_t bytes = layout.slice * BitWidth(data.type()) / 8;
    const char* from = data.data<char>();
    char* to = y->mutable_data<char>();
    ParallelFor(layout.tuples, GrainOf(bytes), [&](int64_t begin, int64_t end) {
      switch (bytes) {
        case 1:
          return GatherSlices<1>(from, offsets, bytes, to, begin, end);
        case 4:
          return GatherSlices<4>(from, offsets, bytes, to, begin, end);
        case 8:
          return GatherSlices<8>(from, offsets, bytes, to, begin, end);
        default:
          return GatherSlices<0>(from, offsets, bytes, to, begin, end);
      }
    });
    return absl::OkStatus();
  }

 private:
  const int64_t batch_dims_;
};

class ScatterNDKernel final : public Kernel {
 public:
  explicit ScatterNDKernel(ScatterReduction reduction) : reduction_(reduction) {}

  absl::string_view name() const override {
    return reduction_ == ScatterReduction::kNone ? "copy" : "scatter";
  }
  bool Accepts(const OpContext& context) const override {
    return reduction_ == ScatterReduction::kNone ? MovesInputAsBytes(context)
                                                 : IsCombinable(context.input(0).type());
  }

  absl::Status Run(OpContext& context) const override {
    const Tensor& data = context.input(0);
    const Tensor& updates = context.input(2);
    ATTNRUN_ASSIGN_OR_RETURN(const TupleLayout layout,
                             LayOutUpdates(data, context.input(1), updates));
    ATTNRUN_ASSIGN_OR_RETURN(const Offsets offsets, ByteOffsets(data, context.input(1), layout));
    ATTNRUN_ASSIGN_OR_RETURN(const CacheCopy y, CacheCopy::Make(context));
    if (layout.slice == 0) return absl::OkStatus();
    if (reduction_ == ScatterReduction::kNone) {
      Move(updates, offsets, layout.slice * BitWidth(data.type()) / 8, y);
    } else {
      Combine(updates, offsets, layout.slice, y);
    }
    return absl::OkStatus();
  }

 private:
  // In order, on one thread: of several updates of one slice the last must stay.
  static void Move(const Tensor& updates, const Offsets& offsets, int64_t bytes,
                   const CacheCopy& y) {
    const char* from = updates.data<char>();
    for (const int64_t offset : offsets) {
      y.Overwrite(offset, bytes);
      std::memcpy(y.data() + offset, from, bytes);
      from += bytes;
    }
  }

  // In order, on one thread: sums must not depend on the number of threads.
  void Combine(const Tensor& updates, const Offsets& offsets, int64_t count,
               const CacheCopy& y) const {
    WithNumber(updates.type(), [&](auto number) {
      using T = decltype(number);
      WithCombination<T>(reduction_, [&](auto combine) {
        const T* from = updates.data<T>();
        for (const int64_t offset : offsets) {
          y.Overwrite(offset, count * static_cast<int64_t>(sizeof(T)));
          T* const to = reinterpret_cast<T*>(y.data() + offset);
          for (int64_t i = 0; i < count; ++i) to[i] = combine(to[i], from[i]);
          from += count;
        }
      });
    });
  }

  const ScatterReduction reduction_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> GatherND::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<GatherNDKernel>(batch_dims_);
}

absl::StatusOr<std::unique_ptr<Kernel>> ScatterND::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<ScatterNDKernel>(reduction_);
}

}  // namespace attnrun::ops
