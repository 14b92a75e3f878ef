// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/packed_heads.h"

#include "absl/strings/str_cat.h"

namespace attnrun::ops {

HeadColumns HeadColumns::Read(AttributeReader& attributes) {
  return {attributes.Required<int64_t>("head_size"),
          attributes.Required<std::vector<int64_t>>("head_offsets")};
}

absl::Status HeadColumns::Check(const Tensor& x) const {
  if (!IsFloatingPoint(x.type()) || x.rank() != 3 || size < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected floats [batch, sequence, width] and heads of 1 column or more, but ",
                     "found ", TypeAndShape(x), " and ", size));
  }
  int64_t end = 0;
  for (const int64_t offset : offsets) {
    if (offset < end || offset > x.dim(2) - size) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected heads of ", size, " columns one after the other in ",
                       TypeAndShape(x), ", but one begins at ", offset));
    }
    end = offset + size;
  }
  return absl::OkStatus();
}

}  // namespace attnrun::ops
