// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ELEMENTWISE_WHERE_H_
#define ATTNRUN_OPS_ELEMENTWISE_WHERE_H_

#include <memory>

#include "ops/interface/op.h"
#include "ops/interface/registry.h"

namespace attnrun::ops {

// ONNX Where-9, -16 (condition bool, x, y): x where the condition is true, else y. The three
// broadcast together; x and y are of one type: any integer of 8 bits or more, float, bool, complex
// or string.
class Where final : public Op {
 public:
  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;
};

void RegisterWhere(OpRegistry& registry);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ELEMENTWISE_WHERE_H_
