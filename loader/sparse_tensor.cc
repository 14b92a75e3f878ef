// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "loader/tensor_reader.h"

namespace attnrun::loader {
namespace {

// The positions of the values in the dense tensor. `indices` has either one linear index or one row
// of indices per value.
absl::StatusOr<std::vector<int64_t>> Positions(const Tensor& indices, const Shape& shape) {
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<int64_t> flat, ToInts(indices));
  if (indices.rank() == 1) return flat;
  if (indices.rank() != 2 || indices.dim(1) != static_cast<int64_t>(shape.size())) {
    return absl::InvalidArgumentError(absl::StrCat("expected sparse indices of shape [n] or [n,",
                                                   shape.size(), "], but found ",
                                                   TypeAndShape(indices)));
  }
  const Shape strides = DenseStrides(shape);
  std::vector<int64_t> positions(indices.dim(0), 0);
  for (size_t i = 0; i < flat.size(); ++i) {
    const size_t axis = i % shape.size();
    if (flat[i] < 0 || flat[i] >= shape[axis]) {
      return absl::InvalidArgumentError(
          absl::StrCat("the sparse index ", flat[i], " is outside the extent ", shape[axis]));
    }
    positions[i / shape.size()] += flat[i] * strides[axis];
  }
  return positions;
}

absl::Status Scatter(const Tensor& values, const std::vector<int64_t>& positions, Tensor& dense) {
  const int width = BitWidth(dense.type()) / 8;
  auto* out = dense.mutable_data<char>();
  std::memset(out, 0, dense.byte_size());
  int64_t previous = -1;
  for (size_t i = 0; i < positions.size(); ++i) {
    const int64_t position = positions[i];
    if (position <= previous || position >= dense.num_elements()) {
      return absl::InvalidArgumentError(absl::StrCat("expected ascending sparse indices below ",
                                                     dense.num_elements(), ", but found ", position,
                                                     " after ", previous));
    }
    std::memcpy(out + position * width, values.data<char>() + i * width, width);
    previous = position;
  }
  return absl::OkStatus();
}

// Counts the dense form of a sparse tensor; kResourceExhausted if it is too large.
absl::Status CountDense(DataType type, const Shape& shape, const TensorSource& source) {
  if (source.dense_left == nullptr) return absl::OkStatus();
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t count, NumElements(shape));
  const int64_t width = BitWidth(type) / 8;
  if (count > *source.dense_left / width) {
    return absl::ResourceExhaustedError(absl::StrCat("a dense tensor of ", count,
                                                     " elements does not fit: ", *source.dense_left,
                                                     " bytes are left for sparse tensors"));
  }
  *source.dense_left -= count * width;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Tensor> ReadSparseTensor(const onnx::SparseTensorProto& proto,
                                        const TensorSource& source) {
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor values, ReadTensor(proto.values(), source));
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor indices, ReadTensor(proto.indices(), source));
  if (values.type() == DataType::kString || BitWidth(values.type()) < 8) {
    return absl::UnimplementedError(
        absl::StrCat("sparse tensors of ", Name(values.type()), " are not supported"));
  }
  const Shape shape(proto.dims().begin(), proto.dims().end());
  // Indices of no axes need no data, so that a file may announce any number of them.
  if (values.rank() != 1 || indices.rank() == 0 || values.dim(0) != indices.dim(0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected one sparse value per index, but found the values ",
                     TypeAndShape(values), " and the indices ", TypeAndShape(indices)));
  }
  ATTNRUN_RETURN_IF_ERROR(CountDense(values.type(), shape, source));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor dense, Tensor::Allocate(values.type(), shape));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> positions, Positions(indices, shape));
  ATTNRUN_RETURN_IF_ERROR(Scatter(values, positions, dense));
  return dense;
}

}  // namespace attnrun::loader
