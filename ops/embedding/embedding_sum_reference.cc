// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "core/elements.h"
#include "core/status.h"
#include "ops/embedding/embedding_sum.h"

namespace attnrun::ops {

absl::Status EmbeddingSum::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const Shape shape, Resolve(context));
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t size, NumElements(shape));
  std::vector<double> sums(size, 0);
  const int64_t columns = shape.back();
  for (int i = 0; i + 1 < context.num_inputs(); i += 2) {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> table, ToDoubles(context.input(i)));
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> ids, ToInts(context.input(i + 1)));
    for (int64_t at = 0; at < size; ++at) {
      const int64_t id = ids[at / columns];
      const int64_t row = id < 0 ? id + context.input(i).dim(0) : id;
      sums[at] += table[row * columns + at % columns];
    }
  }
  if (context.num_inputs() % 2 != 0) {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> positions,
                             ToDoubles(context.input(context.num_inputs() - 1)));
    const int64_t count = shape[shape.size() - 2];
    for (int64_t at = 0; at < size; ++at) {
      sums[at] += positions[at / columns % count * columns + at % columns];
    }
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y,
                           FromDoubles(context.input(0).type(), shape, sums, context.allocator()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

}  // namespace attnrun::ops
