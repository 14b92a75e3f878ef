// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ELEMENTWISE_CAST_H_
#define ATTNRUN_OPS_ELEMENTWISE_CAST_H_

#include <memory>
#include <string>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"
#include "ops/interface/registry.h"

namespace attnrun::ops {

// The conversion of numbers that the target type does not hold.
struct CastRules {
  // True: 8-bit floats saturate at their largest number; false: they become infinity or NaN. The
  // 4-bit float always saturates.
  bool saturate = true;
  // The rounding to float8e8m0, whose numbers are powers of two: "up", "down" or "nearest".
  std::string round_mode = "up";
};

// ONNX Cast-6 to -28 and CastLike-15 to -25: the elements converted to another type, attribute `to`
// or the type of the second input. Numbers to floats round to nearest even; to integers they
// truncate towards zero and keep their low bits; to bool they are x != 0. Strings hold numbers in
// decimal or scientific notation, "INF", "-INF" and "NaN" in any case. Numbers to strings become
// the shortest plain decimal that reads back the same, bool 1 and 0. ONNX has no casts of complex
// numbers.
class Cast final : public Op {
 public:
  // `to`: kUndefined for CastLike.
  Cast(DataType to, CastRules rules) : to_(to), rules_(std::move(rules)) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  const DataType to_;
  const CastRules rules_;
};

// The reference conversion.
absl::StatusOr<Tensor> CastTensor(const Tensor& x, DataType to, const CastRules& rules,
                                  Allocator& allocator);

// kInvalidArgument if an element is not a number.
absl::StatusOr<Tensor> CastFromStrings(const Tensor& x, DataType to, const CastRules& rules,
                                       Allocator& allocator);
absl::StatusOr<Tensor> CastToStrings(const Tensor& x, Allocator& allocator);

void RegisterCast(OpRegistry& registry);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ELEMENTWISE_CAST_H_
