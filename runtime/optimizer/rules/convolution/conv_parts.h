// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_CONVOLUTION_CONV_PARTS_H_
#define ATTNRUN_OPTIMIZER_RULES_CONVOLUTION_CONV_PARTS_H_

#include <optional>

#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// A convolution with constant weights.
struct ConvParts {
  // [N, C, ..] or, for Write, [N, .., C].
  Value* x = nullptr;
  // [M, C/group, ..]
  Value* weight = nullptr;
  // [M], or null.
  Value* bias = nullptr;
  // Those of Conv.
  AttributeMap attributes = {};

  // nullopt if the node is no Conv with a constant weight, or of other types than attnrun.Conv.
  static std::optional<ConvParts> Of(const Node& node, Facts& facts);

  // True if each element of an image is projected by itself.
  bool IsPointwise() const;

  // The convolution of x [N, .., C]: attnrun.Linear if it is pointwise, else attnrun.Conv.
  Value* Write(Patch& patch, absl::string_view name) const;
};

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_CONVOLUTION_CONV_PARTS_H_
