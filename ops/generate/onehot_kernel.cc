// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <optional>

#include "core/parallel.h"
#include "core/status.h"
#include "ops/generate/onehot.h"
#include "ops/tensors/indices.h"
#include "ops/tensors/int_input.h"
#include "ops/tensors/machine_word.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun::ops {
namespace {

// Fills the output with one value and writes the other where an index says.
class OneHotKernel final : public Kernel {
 public:
  explicit OneHotKernel(int64_t axis) : axis_(axis) {}

  absl::string_view name() const override { return "scatter"; }

  bool Accepts(const OpContext& context) const override {
    const Tensor& depth = context.input(1);
    const Tensor& values = context.input(2);
    return CheckIndexType(context.input(0)).ok() && ReadInt(depth, "depth").value_or(-1) >= 0 &&
           values.num_elements() == 2 && IsMachineWord(values.type()) &&
           NormalizeAxis(axis_, context.input(0).rank() + 1).ok();
  }

  absl::Status Run(OpContext& context) const override {
    const Tensor& indices = context.input(0);
    const Tensor& values = context.input(2);
    ATTNRUN_ASSIGN_OR_RETURN(const int64_t depth, ReadInt(context.input(1), "depth"));
    ATTNRUN_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axis_, indices.rank() + 1));
    Shape shape = indices.shape();
    shape.insert(shape.begin() + axis, depth);
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, values.type(), shape));
    if (y->num_elements() == 0) return absl::OkStatus();
    const int64_t inner = DenseStrides(shape)[axis];
    WithWord(values.type(), [&](auto word) {
      using T = decltype(word);
      const T* const choice = static_cast<const T*>(values.raw());
      WithIndices(indices, [&](const auto* index) {
        ParallelFor(y->num_elements() / depth / inner,
                    GrainOf(depth * inner * static_cast<int64_t>(sizeof(T))),
                    [&](int64_t begin, int64_t end) {
                      T* to = static_cast<T*>(y->mutable_raw()) + begin * depth * inner;
                      std::fill_n(to, (end - begin) * depth * inner, choice[0]);
                      for (int64_t i = begin; i < end; ++i, to += depth * inner) {
                        Mark(index + i * inner, inner, depth, choice[1], to);
                      }
                    });
      });
    });
    return absl::OkStatus();
  }

 private:
  // to[index, j] = value for the index of each j. An index outside marks nothing.
  template <typename Index, typename T>
  static void Mark(const Index* indices, int64_t inner, int64_t depth, T value, T* to) {
    for (int64_t j = 0; j < inner; ++j) {
      const int64_t index = indices[j];
      if (index >= -depth && index < depth) to[WrapIndex(index, depth) * inner + j] = value;
    }
  }

  const int64_t axis_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> OneHot::MakeKernel(const KernelContext& /*context*/) const {
  return std::make_unique<OneHotKernel>(axis_);
}

}  // namespace attnrun::ops
