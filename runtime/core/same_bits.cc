// SPDX-License-Identifier: Apache-2.0
#include "core/same_bits.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace attnrun {

bool SameBits(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type() || a.shape() != b.shape()) return false;
  if (a.is_sequence()) {
    return std::equal(a.tensors().begin(), a.tensors().end(), b.tensors().begin(),
                      b.tensors().end(),
                      [](const Tensor& x, const Tensor& y) { return SameBits(x, y); });
  }
  if (a.type() == DataType::kString) {
    const auto* strings = a.data<std::string>();
    return std::equal(strings, strings + a.num_elements(), b.data<std::string>());
  }
  return a.num_elements() == 0 || std::memcmp(a.raw(), b.raw(), a.byte_size()) == 0;
}

bool SameBits(const TensorMap& a, const TensorMap& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && SameBits(x.second, y.second);
  });
}

}  // namespace attnrun
