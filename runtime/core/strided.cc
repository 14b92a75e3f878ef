// SPDX-License-Identifier: Apache-2.0
#include "core/strided.h"

#include "absl/strings/str_cat.h"

namespace attnrun {

absl::StatusOr<Shape> BroadcastStrides(absl::Span<const int64_t> from,
                                       absl::Span<const int64_t> to) {
  bool fits = from.size() <= to.size();
  const size_t lead = fits ? to.size() - from.size() : 0;
  Shape strides(to.size(), 0);
  const Shape dense = DenseStrides(from);
  for (size_t i = 0; fits && i < from.size(); ++i) {
    fits = from[i] == 1 || from[i] == to[lead + i];
    if (from[i] != 1) strides[lead + i] = dense[i];
  }
  if (fits) return strides;
  return absl::InvalidArgumentError(
      absl::StrCat("shape ", ToString(from), " does not broadcast to ", ToString(to)));
}

}  // namespace attnrun
