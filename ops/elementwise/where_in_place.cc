// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/where_in_place.h"

#include <cstdint>

#include "core/journal.h"
#include "core/strided.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun::ops {
namespace {

// Rows of at least this many bytes have one element of the condition each.
constexpr int64_t kLeastRow = 32;

// The strides, in elements, with which an operand is read in the shape of the output; empty if it
// does not broadcast to it.
Shape StridesIn(const Tensor& operand, const Shape& shape) {
  if (operand.rank() > static_cast<int>(shape.size())) return {};
  const Shape own = StridesOf(operand);
  Shape strides(shape.size(), 0);
  const int missing = static_cast<int>(shape.size()) - operand.rank();
  for (int i = 0; i < operand.rank(); ++i) {
    if (operand.dim(i) != 1 && operand.dim(i) != shape[missing + i]) return {};
    if (operand.dim(i) != 1) strides[missing + i] = own[i];
  }
  return strides;
}

// The number of axes behind the last one along which the condition changes.
size_t SameAxes(const Shape& condition) {
  size_t count = 0;
  while (count < condition.size() && condition[condition.size() - 1 - count] == 0) ++count;
  return count;
}

bool Overwrite(OpContext& context, int cache_input, bool chosen) {
  const Tensor& cache = context.input(cache_input);
  const Tensor& update = context.input(3 - cache_input);
  const Tensor& condition = context.input(0);
  Journal* const journal = JournalOf(cache);
  if (journal == nullptr || cache.rank() == 0 || cache.num_elements() == 0) return false;
  const Shape& shape = cache.shape();
  const Shape asks = StridesIn(condition, shape);
  const Shape from = StridesIn(update, shape);
  if (asks.empty() || from.empty()) return false;
  const absl::Span<const int64_t> extents(shape);
  const size_t same = SameAxes(asks);
  const size_t rows = shape.size() - same;
  const int width = BitWidth(cache.type()) / 8;
  const Shape dense = DenseStrides(shape);
  const int64_t bytes = *NumElements(extents.subspan(rows)) * width;
  if (bytes < kLeastRow) return false;
  auto* const to = const_cast<char*>(cache.data<char>());
  int64_t row = 0;
  ForEachOffset(extents.first(rows), absl::MakeConstSpan(asks).first(rows), [&](int64_t offset) {
    const int64_t here = row++;
    if (condition.data<bool>()[offset] != chosen) return;
    journal->Save(here * bytes, bytes);
    const int64_t source =
        OffsetOf(here, extents.first(rows), absl::MakeConstSpan(from).first(rows));
    CopyStrided(width, extents.subspan(rows), update.data<char>() + source * width,
                absl::MakeConstSpan(from).subspan(rows), to + here * bytes,
                absl::MakeConstSpan(dense).subspan(rows));
  });
  context.SetOutput(0, cache);
  return true;
}

}  // namespace

bool WhereInPlace(OpContext& context) {
  return Overwrite(context, 2, true) || Overwrite(context, 1, false);
}

}  // namespace attnrun::ops
