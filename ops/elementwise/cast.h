// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ELEMENTWISE_CAST_H_
#define ATTNRUN_OPS_ELEMENTWISE_CAST_H_

#include <memory>
#include <string>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"
#include "ops/interface/registry.h"

namespace attnrun::ops {

// What becomes of the numbers that the target type does not hold.
struct CastRules {
  // The 8-bit floats keep their largest number; otherwise infinity or NaN. The 4-bit float always
  // keeps its largest.
  bool saturate = true;
  // float8e8m0, whose numbers are powers of two: "up", "down" or "nearest".
  std::string round_mode = "up";
};

// ONNX Cast-6 to -28 and CastLike-15 to -25: the elements as another type, that of the attribute
// `to` or of the second input.
// Between numbers: floats round to nearest even, integers truncate towards zero and keep their low
// bits, bool is x != 0. Strings hold numbers in decimal or scientific notation, "INF", "-INF" and
// "NaN" in any case; numbers become the shortest plain decimal that reads back the same, bool 1 and
// 0. Complex numbers have no casts in ONNX.
class Cast final : public Op {
 public:
  // kUndefined: CastLike.
  Cast(DataType to, CastRules rules) : to_(to), rules_(std::move(rules)) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(ConstantInputs constants) const override;

 private:
  const DataType to_;
  const CastRules rules_;
};

// The reference conversion.
absl::StatusOr<Tensor> CastTensor(const Tensor& x, DataType to, const CastRules& rules,
                                  Allocator& allocator);

// kInvalidArgument if an element is no number.
absl::StatusOr<Tensor> CastFromStrings(const Tensor& x, DataType to, const CastRules& rules,
                                       Allocator& allocator);
absl::StatusOr<Tensor> CastToStrings(const Tensor& x, Allocator& allocator);

void RegisterCast(OpRegistry& registry);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ELEMENTWISE_CAST_H_
