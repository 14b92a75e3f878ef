// SPDX-License-Identifier: Apache-2.0
#include "ops/tensors/element_copy.h"

#include <cstring>
#include <string>

#include "core/status.h"

namespace attnrun::ops {
namespace {

void CopyPacked(int bits, const uint8_t* from, int64_t i, uint8_t* to, int64_t j) {
  const int64_t per_byte = 8 / bits;
  const int mask = (1 << bits) - 1;
  const int value = (from[i / per_byte] >> (bits * (i % per_byte))) & mask;
  const int shift = static_cast<int>(bits * (j % per_byte));
  uint8_t& byte = to[j / per_byte];
  byte = static_cast<uint8_t>((byte & ~(mask << shift)) | (value << shift));
}

}  // namespace

void CopyElement(const Tensor& from, int64_t i, Tensor& to, int64_t j) {
  if (from.type() == DataType::kString) {
    to.mutable_data<std::string>()[j] = from.data<std::string>()[i];
    return;
  }
  const int bits = BitWidth(from.type());
  if (bits < 8) {
    CopyPacked(bits, from.data<uint8_t>(), i, to.mutable_data<uint8_t>(), j);
    return;
  }
  const int width = bits / 8;
  std::memcpy(to.mutable_data<char>() + j * width, from.data<char>() + i * width, width);
}

absl::StatusOr<Tensor*> AllocateZeros(OpContext& context, int i, DataType type,
                                      absl::Span<const int64_t> shape) {
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * tensor, context.AllocateOutput(i, type, shape));
  if (type != DataType::kString && tensor->byte_size() > 0) {
    std::memset(tensor->mutable_raw(), 0, tensor->byte_size());
  }
  return tensor;
}

}  // namespace attnrun::ops
