// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <vector>

#include "core/parallel.h"
#include "core/status.h"
#include "ops/embedding/embedding_sum.h"
#include "ops/tensors/indices.h"

namespace attnrun::ops {
namespace {

// Adds the rows one by one while the row of the result is in cache.
class EmbeddingSumKernel final : public Kernel {
 public:
  absl::string_view name() const override { return "rows"; }
  bool Accepts(const OpContext& context) const override {
    return context.input(0).type() == DataType::kFloat;
  }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const Shape shape, EmbeddingSum::Resolve(context));
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, DataType::kFloat, shape));
    if (y->num_elements() == 0) return absl::OkStatus();
    const int64_t columns = shape.back();
    const int64_t rows = y->num_elements() / columns;
    constexpr int64_t kElementsPerTask = 1 << 14;
    ParallelFor(rows, kElementsPerTask / columns + 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        SumRow(context, row, shape, y->mutable_data<float>() + row * columns);
      }
    });
    return absl::OkStatus();
  }

 private:
  static void SumRow(const OpContext& context, int64_t row, const Shape& shape, float* out) {
    const int64_t columns = shape.back();
    std::memcpy(out, RowOf(context, 0, row), columns * sizeof(float));
    for (int i = 2; i + 1 < context.num_inputs(); i += 2) Add(RowOf(context, i, row), columns, out);
    if (context.num_inputs() % 2 == 0) return;
    const Tensor& positions = context.input(context.num_inputs() - 1);
    Add(positions.data<float>() + row % shape[shape.size() - 2] * columns, columns, out);
  }

  // The row of table `input` that the ids in the next input name.
  static const float* RowOf(const OpContext& context, int input, int64_t row) {
    const Tensor& table = context.input(input);
    const int64_t id = WithIndices(context.input(input + 1),
                                   [&](const auto* ids) { return static_cast<int64_t>(ids[row]); });
    return table.data<float>() + WrapIndex(id, table.dim(0)) * table.dim(1);
  }

  static void Add(const float* from, int64_t count, float* to) {
    for (int64_t i = 0; i < count; ++i) to[i] += from[i];
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> EmbeddingSum::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<EmbeddingSumKernel>();
}

}  // namespace attnrun::ops
