// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "core/status.h"
#include "ops/recurrent/dynamic_quantize_lstm.h"
#include "ops/recurrent/recurrent_kernel.h"

namespace attnrun::ops {
namespace {

// Part d of `parts` equal ones, one behind the other.
absl::StatusOr<Tensor> PartOf(const Tensor& tensor, int64_t d, int64_t parts) {
  ATTNRUN_ASSIGN_OR_RETURN(
      Tensor part,
      Tensor::Allocate(tensor.type(), {tensor.num_elements() / parts}, Allocator::Heap()));
  std::memcpy(part.mutable_raw(), static_cast<const char*>(tensor.raw()) + d * part.byte_size(),
              part.byte_size());
  return part;
}

// W or R, [D, depth, 4 * H], with scales and zero points for each direction, or for each column.
struct IntegerWeight {
  const Tensor& values;
  const Tensor& scales;
  const Tensor& zero_points;

  bool IsValid() const {
    const bool defined = values.defined() && scales.defined() && zero_points.defined();
    return defined && values.rank() == 3 && values.num_elements() > 0 &&
           (values.type() == DataType::kInt8 || values.type() == DataType::kUint8) &&
           scales.type() == DataType::kFloat && zero_points.type() == values.type() &&
           IsForColumns(scales.shape()) && IsForColumns(zero_points.shape());
  }

  // Packs the directions [begin, end) side by side, or takes them from the store, which may be
  // null. Precondition: IsValid().
  absl::StatusOr<RecurrentMatrix> Pack(int64_t begin, int64_t end, PackedStore* store) const {
    const int64_t directions = values.dim(0);
    const int64_t depth = values.dim(1);
    const int64_t columns = values.dim(2);
    std::vector<Tensor> zeros;
    std::vector<Int8Matrix> parts;
    RecurrentMatrix packed;
    for (int64_t d = begin; d < end; ++d) {
      ATTNRUN_ASSIGN_OR_RETURN(zeros.emplace_back(), PartOf(zero_points, d, directions));
      parts.push_back({&values, d * depth * columns, depth, columns, nullptr});
      const float* const of_direction =
          scales.data<float>() + d * scales.num_elements() / directions;
      for (int64_t j = 0; j < columns; ++j) {
        packed.scales.push_back(of_direction[scales.rank() == 2 ? j : 0]);
      }
    }
    for (size_t i = 0; i < parts.size(); ++i) parts[i].zero_points = &zeros[i];
    ATTNRUN_ASSIGN_OR_RETURN(packed.integers, Int8Panels::PackShared(parts, store));
    return packed;
  }

 private:
  bool IsForColumns(const Shape& shape) const {
    return shape == Shape{values.dim(0)} || shape == Shape{values.dim(0), values.dim(2)};
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> DynamicQuantizeLstm::MakeKernel(
    const KernelContext& context) const {
  if (!status_.ok()) return nullptr;
  const auto& constants = context.constants;
  if (std::ssize(constants) <= kRZeroPoint) return nullptr;
  const IntegerWeight w = {constants[kW], constants[kWScale], constants[kWZeroPoint]};
  const IntegerWeight r = {constants[kR], constants[kRScale], constants[kRZeroPoint]};
  const int64_t directions = attributes_.directions();
  if (!w.IsValid() || !r.IsValid() || w.values.dim(0) != directions ||
      r.values.dim(0) != directions) {
    return nullptr;
  }
  RecurrentWeights weights;
  weights.form = WeightForm::kIntegers;
  ATTNRUN_ASSIGN_OR_RETURN(weights.input, w.Pack(0, directions, context.packed_store));
  for (int64_t d = 0; d < directions; ++d) {
    ATTNRUN_ASSIGN_OR_RETURN(weights.state.emplace_back(), r.Pack(d, d + 1, context.packed_store));
  }
  return MakeRecurrentKernel(attributes_, std::move(weights));
}

}  // namespace attnrun::ops
