// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "core/parallel.h"
#include "core/status.h"
#include "core/strided.h"
#include "ops/gather/cache_copy.h"
#include "ops/gather/elements.h"
#include "ops/gather/scatter_combine.h"
#include "ops/movement/strided_view.h"
#include "ops/tensors/indices.h"
#include "ops/tensors/machine_word.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun::ops {
namespace {

// Indices as rows along their last axis, with the place of each row in the data.
class Rows {
 public:
  Rows(const Tensor& data, const Tensor& indices, int axis)
      : shape_(indices.shape()), strides_(DenseStrides(data.shape())), axis_(axis) {
    axis_stride_ = strides_[axis];
    length_ = shape_.back();
    step_ = axis == data.rank() - 1 ? 0 : 1;
    strides_[axis] = 0;
    for (int i = 0; i < axis; ++i) slabs_ *= shape_[i];
    for (int i = axis; i + 1 < data.rank(); ++i) rows_per_slab_ *= shape_[i];
  }

  // Calls visit(first index, first element of the data) for every row. Rows that differ before
  // `axis` touch different elements of the data, so they may run on several threads.
  template <typename Visit>
  void ForEach(Visit visit) const {
    ParallelFor(slabs_, GrainOf(8 * rows_per_slab_ * length_),
                [&](int64_t begin, int64_t end) { ForSlabs(begin, end, visit); });
  }
  template <typename Visit>
  void ForEachInOrder(Visit visit) const {
    ForSlabs(0, slabs_, visit);
  }

  int64_t length() const { return length_; }
  // Element j of a row is data[first element + j * step() + index * axis_stride()].
  int64_t step() const { return step_; }
  int64_t axis_stride() const { return axis_stride_; }

 private:
  template <typename Visit>
  void ForSlabs(int64_t begin, int64_t end, Visit visit) const {
    const absl::Span<const int64_t> shape(shape_);
    const absl::Span<const int64_t> strides(strides_);
    const int last = static_cast<int>(shape_.size()) - 1;
    for (int64_t slab = begin; slab < end; ++slab) {
      int64_t row = slab * rows_per_slab_;
      const int64_t start = OffsetOf(slab, shape.first(axis_), strides);
      if (axis_ == last) {
        visit(row * length_, start);
        continue;
      }
      ForEachOffset(shape.subspan(axis_, last - axis_), strides.subspan(axis_, last - axis_),
                    [&](int64_t offset) { visit(row++ * length_, start + offset); });
    }
  }

  const Shape shape_;
  Shape strides_;
  const int axis_;
  int64_t axis_stride_ = 1;
  int64_t length_ = 1;
  int64_t step_ = 1;
  int64_t slabs_ = 1;
  int64_t rows_per_slab_ = 1;
};

class GatherElementsKernel final : public Kernel {
 public:
  explicit GatherElementsKernel(int64_t axis) : axis_(axis) {}

  absl::string_view name() const override { return "copy"; }
  bool Accepts(const OpContext& context) const override {
    return IsMachineWord(context.input(0).type());
  }

  absl::Status Run(OpContext& context) const override {
    const Tensor& data = context.input(0);
    const Tensor& indices = context.input(1);
    ATTNRUN_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axis_, data.rank()));
    ATTNRUN_RETURN_IF_ERROR(CheckElementIndices(data, indices, axis));
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, data.type(), indices.shape()));
    if (y->num_elements() == 0) return absl::OkStatus();
    const Rows rows(data, indices, axis);
    const int64_t extent = data.dim(axis);
    WithWord(data.type(), [&](auto word) {
      using T = decltype(word);
      const T* from = data.data<T>();
      T* to = y->mutable_data<T>();
      WithIndices(indices, [&](const auto* index) {
        rows.ForEach([&](int64_t first, int64_t base) {
          // DeBERTa picks relative positions of a query so; it needs no product per element.
          if (rows.step() == 0 && rows.axis_stride() == 1) {
            for (int64_t j = 0; j < rows.length(); ++j) {
              to[first + j] = from[base + WrapIndex(index[first + j], extent)];
            }
            return;
          }
          for (int64_t j = 0; j < rows.length(); ++j) {
            to[first + j] = from[base + j * rows.step() +
                                 WrapIndex(index[first + j], extent) * rows.axis_stride()];
          }
        });
      });
    });
    return absl::OkStatus();
  }

 private:
  const int64_t axis_;
};

class ScatterElementsKernel final : public Kernel {
 public:
  ScatterElementsKernel(int64_t axis, ScatterReduction reduction)
      : axis_(axis), reduction_(reduction) {}

  absl::string_view name() const override {
    return reduction_ == ScatterReduction::kNone ? "copy" : "scatter";
  }
  bool Accepts(const OpContext& context) const override {
    const DataType type = context.input(0).type();
    return reduction_ == ScatterReduction::kNone ? IsMachineWord(type) : IsCombinable(type);
  }

  absl::Status Run(OpContext& context) const override {
    const Tensor& data = context.input(0);
    const Tensor& indices = context.input(1);
    const Tensor& updates = context.input(2);
    ATTNRUN_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axis_, data.rank()));
    ATTNRUN_RETURN_IF_ERROR(CheckElementIndices(data, indices, axis));
    ATTNRUN_RETURN_IF_ERROR(CheckElementUpdates(data, indices, updates));
    ATTNRUN_ASSIGN_OR_RETURN(const CacheCopy y, CacheCopy::Make(context));
    if (indices.num_elements() == 0) return absl::OkStatus();
    const Rows rows(data, indices, axis);
    if (reduction_ == ScatterReduction::kNone) {
      WithWord(data.type(), [&](auto word) {
        using T = decltype(word);
        Scatter<T>(rows, indices, updates, data.dim(axis), y, [](T /*a*/, T b) { return b; });
      });
    } else {
      WithNumber(data.type(), [&](auto number) {
        using T = decltype(number);
        WithCombination<T>(reduction_, [&](auto combine) {
          Scatter<T>(rows, indices, updates, data.dim(axis), y, combine);
        });
      });
    }
    return absl::OkStatus();
  }

 private:
  template <typename T, typename Combine>
  static void Scatter(const Rows& rows, const Tensor& indices, const Tensor& updates,
                      int64_t extent, const CacheCopy& y, Combine combine) {
    const T* const from = updates.data<T>();
    T* const to = reinterpret_cast<T*>(y.data());
    WithIndices(indices, [&](const auto* index) {
      if (!y.is_copy()) Save<T>(rows, index, extent, y);
      rows.ForEach([&](int64_t first, int64_t base) {
        for (int64_t j = 0; j < rows.length(); ++j) {
          T& element =
              to[base + j * rows.step() + WrapIndex(index[first + j], extent) * rows.axis_stride()];
          element = combine(element, from[first + j]);
        }
      });
    });
  }

  template <typename T, typename Index>
  static void Save(const Rows& rows, const Index* index, int64_t extent, const CacheCopy& y) {
    rows.ForEachInOrder([&](int64_t first, int64_t base) {
      for (int64_t j = 0; j < rows.length(); ++j) {
        const int64_t element =
            base + j * rows.step() + WrapIndex(index[first + j], extent) * rows.axis_stride();
        y.Overwrite(element * static_cast<int64_t>(sizeof(T)), sizeof(T));
      }
    });
  }

  const int64_t axis_;
  const ScatterReduction reduction_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> GatherElements::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<GatherElementsKernel>(axis_);
}

absl::StatusOr<std::unique_ptr<Kernel>> ScatterElements::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<ScatterElementsKernel>(axis_, reduction_);
}

}  // namespace attnrun::ops
