// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/projection/join_columns.h"

#include <cstring>

#include "core/status.h"

namespace attnrun::opt {

absl::StatusOr<Tensor> JoinColumns(const std::vector<ColumnConstant>& parts, DataType type) {
  int64_t columns = 0;
  for (const ColumnConstant& part : parts) columns += part.columns;
  ATTNRUN_ASSIGN_OR_RETURN(Tensor joined, Tensor::Allocate(type, {columns}, Allocator::Heap()));
  const size_t size = columns == 0 ? 0 : joined.byte_size() / static_cast<size_t>(columns);
  auto* to = static_cast<char*>(joined.mutable_raw());
  for (const ColumnConstant& part : parts) {
    const auto count = static_cast<size_t>(part.columns);
    if (part.tensor == nullptr) {
      std::memset(to, 0, count * size);
    } else if (part.tensor->num_elements() == part.columns) {
      std::memcpy(to, part.tensor->raw(), count * size);
    } else {
      for (size_t i = 0; i < count; ++i) std::memcpy(to + i * size, part.tensor->raw(), size);
    }
    to += count * size;
  }
  return joined;
}

}  // namespace attnrun::opt
