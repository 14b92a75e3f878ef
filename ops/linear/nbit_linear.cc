// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/nbit_linear.h"

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {

NBitLinear::NBitLinear(AttributeReader& attributes)
    : Linear(LinearFormat::kNBit, attributes),
      k_(attributes.Required<int64_t>("K")),
      bits_(attributes.Int("bits", 4)),
      block_size_(attributes.Required<int64_t>("block_size")) {}

NBitWeight NBitLinear::AsNBit(const Weight& weight) const {
  const Tensor& codes = weight.values;
  const int64_t columns = codes.rank() == 0 ? 0 : codes.dim(0);
  return {k_, columns, bits_, block_size_, codes, weight.scales, weight.zero_points};
}

absl::Status NBitLinear::CheckTypes(const OpContext& context) const {
  for (const int i : {kX, kBias, kResidual}) {
    if (i != kX && !context.has_input(i)) continue;
    if (context.has_input(i) && IsFloatOrHalf(context.input(i).type())) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("expected input ", i, " to be floats, but it is ",
                     context.has_input(i) ? TypeAndShape(context.input(i)) : "left out"));
  }
  const Tensor& x = context.input(kX);
  if (x.rank() > 0 && x.shape().back() == k_) return absl::OkStatus();
  return ExpectedShape("X to be floats with rows of shape ", {k_}, x);
}

absl::Status NBitLinear::CheckWeight(const Tensor& /*x*/, int /*index*/,
                                     const Weight& weight) const {
  return AsNBit(weight).Check();
}

absl::StatusOr<std::vector<double>> NBitLinear::ReadElements(const Weight& weight) const {
  return AsNBit(weight).Columns();
}

}  // namespace attnrun::ops
