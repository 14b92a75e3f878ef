// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONTROL_FLOW_CONTROL_FLOW_H_
#define ATTNRUN_OPS_CONTROL_FLOW_CONTROL_FLOW_H_

#include <memory>
#include <vector>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// An operator that only runs its subgraphs. The time is spent in their nodes, so the same code
// serves as reference and as kernel.
class ControlFlow : public Op {
 public:
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const final;
};

// ONNX If-1 to -25 (cond): runs then_branch if `cond`, one bool, is true, else else_branch. The
// outputs of the branch are the node's.
class If final : public ControlFlow {
 public:
  explicit If(AttributeReader& attributes);
  absl::Status Reference(OpContext& context) const override;
};

// ONNX Loop-1 to -25 (M?, cond?, N loop-carried values). M is the maximum number of iterations
// (left out: no bound); cond left out means true. body(iteration, cond, carried...) -> (cond,
// carried..., scanned...). Outputs: the last carried values, then each scanned output stacked along
// a new first axis.
class Loop final : public ControlFlow {
 public:
  explicit Loop(AttributeReader& attributes);
  absl::Status Reference(OpContext& context) const override;
};

// ONNX Scan-9 to -25 (N state values, M sequences). body(state..., slices...) -> (state...,
// outputs...) gets one slice of every sequence per iteration. Outputs: the last state, then each
// scanned output stacked along its axis. Version 8, which has a batch axis, is not covered.
class Scan final : public ControlFlow {
 public:
  explicit Scan(AttributeReader& attributes);
  absl::Status Reference(OpContext& context) const override;

 private:
  int64_t num_scan_inputs_;
  std::vector<int64_t> input_axes_;
  std::vector<int64_t> output_axes_;
  std::vector<int64_t> input_directions_;
  std::vector<int64_t> output_directions_;
};

// ONNX SequenceMap-17 (sequence of n, N tensors or sequences of n): body(inputs...) -> (outputs...)
// gets one tensor of each sequence per iteration, and the other tensors as they are. Outputs: the
// sequences of what the body returns.
class SequenceMap final : public ControlFlow {
 public:
  explicit SequenceMap(AttributeReader& attributes);
  absl::Status Reference(OpContext& context) const override;

 private:
  // The types that the body declares for its outputs, which an empty sequence takes on.
  std::vector<DataType> declared_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONTROL_FLOW_CONTROL_FLOW_H_
