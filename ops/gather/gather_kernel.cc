// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "core/parallel.h"
#include "core/status.h"
#include "ops/gather/gather.h"
#include "ops/movement/strided_view.h"
#include "ops/tensors/indices.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun::ops {
namespace {

// Data [A, N, B] in bytes, with `count` indices for each a; a row holds the B elements.
struct Table {
  const char* data;
  int64_t extent;
  int64_t row_bytes;
  int64_t count;
};

// Copies rows [begin, end) of the result. Bytes: the size of a row if known at compile time, else
// 0.
template <int64_t Bytes, typename Index>
void CopyRows(const Table& table, const Index* indices, char* out, int64_t begin, int64_t end) {
  const int64_t bytes = Bytes > 0 ? Bytes : table.row_bytes;
  int64_t i = begin % table.count;
  const char* block = table.data + begin / table.count * table.extent * bytes;
  for (int64_t row = begin; row < end; ++row) {
    std::memcpy(out + row * bytes, block + WrapIndex(indices[i], table.extent) * bytes, bytes);
    if (++i < table.count) continue;
    i = 0;
    block += table.extent * bytes;
  }
}

template <typename Index>
void CopyAll(const Table& table, const Index* indices, char* out, int64_t rows) {
  ParallelFor(rows, GrainOf(table.row_bytes), [&](int64_t begin, int64_t end) {
    switch (table.row_bytes) {
      case 1:
        return CopyRows<1>(table, indices, out, begin, end);
      case 2:
        return CopyRows<2>(table, indices, out, begin, end);
      case 4:
        return CopyRows<4>(table, indices, out, begin, end);
      case 8:
        return CopyRows<8>(table, indices, out, begin, end);
      default:
        return CopyRows<0>(table, indices, out, begin, end);
    }
  });
}

class GatherKernel final : public Kernel {
 public:
  explicit GatherKernel(int64_t axis) : axis_(axis) {}

  absl::string_view name() const override { return "copy"; }
  bool Accepts(const OpContext& context) const override { return MovesInputAsBytes(context); }

  absl::Status Run(OpContext& context) const override {
    const Tensor& data = context.input(0);
    const Tensor& indices = context.input(1);
    ATTNRUN_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axis_, data.rank()));
    ATTNRUN_RETURN_IF_ERROR(CheckIndices(indices, axis, data));
    const Shape shape = GatheredShape(data, indices, axis);
    const int64_t inner = DenseStrides(data.shape())[axis];
    if (indices.num_elements() == 1 && data.num_elements() == data.dim(axis) * inner) {
      return ViewRow(context, shape, inner);
    }
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, data.type(), shape));
    if (y->num_elements() == 0) return absl::OkStatus();
    const Table table = {data.data<char>(), data.dim(axis), inner * BitWidth(data.type()) / 8,
                         indices.num_elements()};
    WithIndices(indices, [&](const auto* values) {
      CopyAll(table, values, y->mutable_data<char>(), y->num_elements() / inner);
    });
    return absl::OkStatus();
  }

 private:
  // A single index into the outermost axis: the output is a view of the row.
  static absl::Status ViewRow(OpContext& context, const Shape& shape, int64_t inner) {
    const Tensor& data = context.input(0);
    const int64_t index = WithIndices(
        context.input(1), [](const auto* values) { return static_cast<int64_t>(*values); });
    const int64_t extent = data.num_elements() / inner;
    context.SetOutput(0, data.View(shape, DenseStrides(shape), WrapIndex(index, extent) * inner));
    return absl::OkStatus();
  }

  const int64_t axis_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> Gather::MakeKernel(const KernelContext& /*context*/) const {
  return std::make_unique<GatherKernel>(axis_);
}

}  // namespace attnrun::ops
