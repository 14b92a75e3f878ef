// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/packed_store.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/hash/hash.h"
#include "core/same_bits.h"
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

size_t SampleHash(const PackedBytes& packed) {
  constexpr int64_t kSamples = 64;
  const Tensor& first = packed.parts[0];
  const auto* const bytes = static_cast<const uint8_t*>(first.raw());
  const auto count = static_cast<int64_t>(first.byte_size());
  const int64_t step = std::max<int64_t>(count / kSamples, 1);
  size_t hash = absl::HashOf(packed.facts, count);
  for (int64_t i = 0; i < count; i += step) hash = absl::HashOf(hash, bytes[i]);
  return hash;
}

bool SameBits(const PackedBytes& a, const PackedBytes& b) {
  return a.facts == b.facts &&
         absl::c_equal(a.parts, b.parts,
                       [](const Tensor& x, const Tensor& y) { return attnrun::SameBits(x, y); });
}

}  // namespace attnrun::ops
