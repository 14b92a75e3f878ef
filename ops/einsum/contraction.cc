// SPDX-License-Identifier: Apache-2.0
#include "ops/einsum/contraction.h"

#include "absl/algorithm/container.h"
#include "core/status.h"
#include "core/strided.h"

namespace attnrun::ops {
namespace {

int64_t ProductOf(const Shape& extents) {
  int64_t product = 1;
  for (const int64_t extent : extents) product *= extent;
  return product;
}

Shape Joined(Shape a, const Shape& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

std::optional<Contraction> Contraction::Of(const EinsumShape& shape) {
  if (shape.operands.size() != 2) return std::nullopt;
  const auto in = [&](int operand, Label label) {
    return absl::c_linear_search(shape.operands[operand], label);
  };
  Contraction result = {.left = 0, .right = 1, .batch = {}, .rows = {}, .columns = {}, .depth = {}};
  if (!shape.output.empty() && !in(1, shape.output.back())) std::swap(result.left, result.right);
  for (const Label label : shape.output) {
    Labels& labels = !in(result.right, label)  ? result.rows
                     : !in(result.left, label) ? result.columns
                                               : result.batch;
    labels.push_back(label);
  }
  for (const Label label : shape.summed) {
    if (!in(0, label) || !in(1, label)) return std::nullopt;
    result.depth.push_back(label);
  }
  return result;
}

Shape Extents(const EinsumShape& shape, const Labels& labels) {
  Shape extents;
  for (const Label label : labels) extents.push_back(shape.extent(label));
  return extents;
}

std::optional<int64_t> CollapsedStride(const Shape& extents, const Shape& strides) {
  std::optional<int64_t> innermost;
  int64_t expected = 0;
  for (size_t i = extents.size(); i-- > 0;) {
    if (extents[i] == 1) continue;
    if (innermost.has_value() && strides[i] != expected) return std::nullopt;
    if (!innermost.has_value()) innermost = strides[i];
    expected = strides[i] * extents[i];
  }
  return innermost.value_or(1);
}

MatrixView OperandStack::at(int64_t i) const {
  MatrixView matrix = first;
  matrix.data += offsets[i];
  return matrix;
}

absl::StatusOr<OperandStack> OperandStack::Make(const EinsumShape& shape, int operand,
                                                const Tensor& floats, const Labels& batch,
                                                const Labels& rows, const Labels& columns,
                                                Allocator& allocator) {
  const auto strides_of = [&](const Labels& labels) {
    return LabelStrides(shape.operands[operand], floats.shape(), labels);
  };
  const Shape batch_extents = Extents(shape, batch);
  const Shape row_extents = Extents(shape, rows);
  const Shape column_extents = Extents(shape, columns);
  OperandStack stack = {
      floats, {floats.data<float>(), ProductOf(row_extents), ProductOf(column_extents)}, {}};
  Shape batch_strides = strides_of(batch);
  const auto row_stride = CollapsedStride(row_extents, strides_of(rows));
  const auto column_stride = CollapsedStride(column_extents, strides_of(columns));
  if (row_stride.has_value() && column_stride.has_value()) {
    stack.first.row_stride = *row_stride;
    stack.first.column_stride = *column_stride;
  } else {
    const Shape extents = Joined(Joined(batch_extents, row_extents), column_extents);
    const Shape strides = Joined(Joined(batch_strides, strides_of(rows)), strides_of(columns));
    ATTNRUN_ASSIGN_OR_RETURN(stack.floats, Tensor::Allocate(DataType::kFloat, extents, allocator));
    auto* out = stack.floats.mutable_data<float>();
    ForEachOffset(extents, strides, [&](int64_t offset) { *out++ = floats.data<float>()[offset]; });
    stack.first.data = stack.floats.data<float>();
    stack.first.row_stride = stack.first.columns;
    const Shape dense = DenseStrides(extents);
    batch_strides.assign(dense.begin(), dense.begin() + batch_extents.size());
  }
  ForEachOffset(batch_extents, batch_strides,
                [&](int64_t offset) { stack.offsets.push_back(offset); });
  return stack;
}

}  // namespace attnrun::ops
