// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ELEMENTWISE_PREDICATE_H_
#define ATTNRUN_OPS_ELEMENTWISE_PREDICATE_H_

#include <memory>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"
#include "ops/interface/registry.h"

namespace attnrun::ops {

enum class PredicateFunction { kNot, kIsNaN, kIsInf };

// Operators of one operand with a bool result: Not-1 (of bool), IsNaN-9 and IsInf-10 (of floats and
// the 8-bit floats) and their later versions. IsInf finds infinities of the requested signs.
class Predicate final : public Op {
 public:
  Predicate(PredicateFunction function, bool negative, bool positive)
      : function_(function), negative_(negative), positive_(positive) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  const PredicateFunction function_;
  // IsInf: detect_negative, detect_positive.
  const bool negative_;
  const bool positive_;
};

void RegisterPredicate(OpRegistry& registry);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ELEMENTWISE_PREDICATE_H_
