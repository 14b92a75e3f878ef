// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_SEARCH_UNIQUE_H_
#define ATTNRUN_OPS_SEARCH_UNIQUE_H_

#include <optional>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// ONNX Unique-11, -28: the distinct elements of X, or its distinct slices along `axis`, ascending
// or (`sorted` 0) in the order of their first occurrences. Output 1: the index of each one's first
// occurrence; 2: the index in Y of each element or slice of X; 3: how often each occurs. Slices are
// ordered by their first differing element. Not for complex numbers, which have no order.
class Unique final : public Op {
 public:
  explicit Unique(AttributeReader& attributes)
      : axis_(attributes.Get<int64_t>("axis")), sorted_(attributes.Int("sorted", 1) != 0) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;

 private:
  std::optional<int64_t> axis_;
  bool sorted_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_SEARCH_UNIQUE_H_
