// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/packed_store.h"

#include <algorithm>
#include <utility>

#include "ops/tensors/strided_copy.h"

namespace attnrun::ops {

void AppendTensor(const Tensor& tensor, PackedRecipe& recipe) {
  recipe.numbers.push_back(static_cast<int64_t>(tensor.type()));
  if (!tensor.defined()) return;
  const Shape strides = StridesOf(tensor);
  recipe.numbers.push_back(tensor.rank());
  recipe.numbers.insert(recipe.numbers.end(), tensor.shape().begin(), tensor.shape().end());
  recipe.numbers.insert(recipe.numbers.end(), strides.begin(), strides.end());
  const auto* const data = static_cast<const char*>(tensor.raw());
  if (tensor.is_dense() || tensor.num_elements() == 0) {
    recipe.sources.emplace_back(data, tensor.byte_size());
    return;
  }
  const auto width = static_cast<int64_t>(tensor.byte_size()) / tensor.num_elements();
  int64_t first = 0;
  int64_t last = 0;
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    const int64_t reach = (tensor.dim(axis) - 1) * strides[axis];
    first += std::min<int64_t>(reach, 0);
    last += std::max<int64_t>(reach, 0);
  }
  recipe.sources.emplace_back(data + first * width, (last - first + 1) * width);
}

Tensor BytesAs(const Tensor& part, DataType type, const Shape& shape) {
  auto tensor = Tensor::Borrow(type, shape, part.raw(), part.byte_size(), part.owner());
  return tensor.ok() ? *std::move(tensor) : Tensor();
}

}  // namespace attnrun::ops
