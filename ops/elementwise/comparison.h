// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ELEMENTWISE_COMPARISON_H_
#define ATTNRUN_OPS_ELEMENTWISE_COMPARISON_H_

#include <memory>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"
#include "ops/interface/registry.h"
#include "ops/interface/type_set.h"

namespace attnrun::ops {

enum class ComparisonFunction {
  kEqual,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
  kAnd,
  kOr,
  kXor,
};

// Operators of two operands of one type that broadcast together, with a bool result: Equal-7 (bool,
// numbers, from version 19 on strings), Less-7, LessOrEqual-12, Greater-7, GreaterOrEqual-12
// (numbers), And-7, Or-7, Xor-7 (bool) and their later versions. A comparison with NaN is false.
class Comparison final : public Op {
 public:
  Comparison(ComparisonFunction function, TypeSet types) : function_(function), types_(types) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  const ComparisonFunction function_;
  const TypeSet types_;
};

void RegisterComparison(OpRegistry& registry);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ELEMENTWISE_COMPARISON_H_
