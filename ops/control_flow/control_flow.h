// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONTROL_FLOW_CONTROL_FLOW_H_
#define ATTNRUN_OPS_CONTROL_FLOW_CONTROL_FLOW_H_

#include <memory>
#include <vector>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"
#include "ops/interface/registry.h"

namespace attnrun::ops {

// An operator that only runs its subgraphs. What takes time happens in their nodes, so that the
// same code serves both engines.
class ControlFlow : public Op {
 public:
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(ConstantInputs constants) const final;
};

// ONNX If-1 to -25: runs then_branch where the boolean `cond` of one element is true, else_branch
// otherwise; the branch's outputs are the node's.
class If final : public ControlFlow {
 public:
  explicit If(AttributeReader& attributes);
  absl::Status Reference(OpContext& context) const override;
};

// ONNX Loop-1 to -25. Inputs: M (at most this many iterations; absent: no bound), cond (absent:
// true) and N loop-carried values. body(iteration, cond, carried...) -> (cond, carried...,
// scanned...). Outputs: the last carried values, then each scanned output stacked along a new first
// axis.
class Loop final : public ControlFlow {
 public:
  explicit Loop(AttributeReader& attributes);
  absl::Status Reference(OpContext& context) const override;
};

// ONNX Scan-9 to -25. Inputs: N state values, then M sequences, of which body(state..., slices...)
// -> (state..., outputs...) sees one slice an iteration. Outputs: the last state, then each scanned
// output stacked along its axis. Version 8, with its batch axis, is not covered.
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

void RegisterControlFlow(OpRegistry& registry);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONTROL_FLOW_CONTROL_FLOW_H_
