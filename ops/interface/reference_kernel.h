// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_INTERFACE_REFERENCE_KERNEL_H_
#define ATTNRUN_OPS_INTERFACE_REFERENCE_KERNEL_H_

#include "ops/interface/op.h"

namespace attnrun::ops {

// Runs the reference code of an operator that computes nothing itself, so that there is nothing to
// optimize: it passes tensors on, or runs its subgraphs.
class ReferenceKernel final : public Kernel {
 public:
  // `op` must outlive the kernel. `name` must be a literal.
  ReferenceKernel(const Op& op, absl::string_view name) : op_(op), name_(name) {}

  absl::string_view name() const override { return name_; }
  bool Accepts(const OpContext& /*context*/) const override { return true; }
  absl::Status Run(OpContext& context) const override { return op_.Reference(context); }

 private:
  const Op& op_;
  const absl::string_view name_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_INTERFACE_REFERENCE_KERNEL_H_
