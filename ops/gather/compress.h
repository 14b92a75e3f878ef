// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GATHER_COMPRESS_H_
#define ATTNRUN_OPS_GATHER_COMPRESS_H_

#include <optional>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// ONNX Compress-9, -11, -28 (input, condition bool [n]): the slices of the input along `axis` for
// which the condition is true, where n is at most the axis's extent; without `axis`, the elements
// of the flattened input.
class Compress final : public Op {
 public:
  explicit Compress(AttributeReader& attributes) : axis_(attributes.Get<int64_t>("axis")) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;

 private:
  std::optional<int64_t> axis_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GATHER_COMPRESS_H_
