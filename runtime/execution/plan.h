// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_EXECUTION_PLAN_H_
#define ATTNRUN_EXECUTION_PLAN_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/tensor.h"
#include "core/hash_map.h"
#include "graph/graph.h"
#include "ops/interface/op.h"

namespace attnrun::exec {

class Plan;

// An input of a step.
struct InputRef {
  // -1 for an optional input that is left out.
  int slot = -1;
  // True if no later step, and no later input of this step, reads the slot: the tensor may be moved
  // out.
  bool last_use = false;
};

// The content of a slot in a run.
struct SlotTensor {
  Tensor tensor;
  // True if it is a float that its producer rounded to bfloat16.
  bool rounded = false;
};

// One node made ready to run.
struct Step {
  const Node* node = nullptr;
  // Equal nodes with the same constants share operator and kernel, and so their packed weights.
  std::shared_ptr<const ops::Op> op;
  // Null if the step always runs the reference code.
  std::shared_ptr<const ops::Kernel> kernel;
  // Why the kernel is finer than KernelOptions::precision; empty if it is not.
  std::string finer_reason;
  std::vector<InputRef> inputs;
  // -1 for an output that is left out.
  std::vector<int> outputs;
  // True if all readers of output 0 round it to bf16, so that it is stored as bf16.
  bool stores_bf16 = false;
  // Bit i: input i comes rounded in this way, if it is a float.
  uint64_t rounded = 0;
  // Slots that no later step reads, to be freed after this step.
  std::vector<int> dead;
  HashMap<std::string, std::unique_ptr<Plan>> subgraphs;
};

// The settings that all kernels of a session share; see KernelContext.
struct KernelOptions {
  Precision precision = Precision::kFloat32;
  ops::PackedStore* packed_store = nullptr;
  bool few_rows = false;
};

// A graph made ready to run: operators created, kernels chosen, a slot for each value, and the step
// after which each slot is freed. Slots below constants().size() hold the same tensor in every run.
class Plan {
 public:
  // The graph must outlive the plan and must not change. Kernels are made as `options` says;
  // without options all steps run the reference code. Precondition: CheckSupported(graph) is OK.
  static absl::StatusOr<std::unique_ptr<Plan>> Make(const Graph& graph,
                                                    const std::optional<KernelOptions>& options);

  const std::vector<Step>& steps() const { return steps_; }
  const std::vector<Tensor>& constants() const { return constants_; }
  int num_slots() const { return num_slots_; }
  // The slot of each graph input and of each graph output.
  const std::vector<int>& inputs() const { return inputs_; }
  const std::vector<int>& outputs() const { return outputs_; }
  // For each capture of the graph: its slot, and the slot of the captured value in the plan of the
  // enclosing graph.
  const std::vector<std::pair<int, int>>& captures() const { return captures_; }
  const Graph& graph() const { return graph_; }

 private:
  friend class PlanMaker;
  explicit Plan(const Graph& graph) : graph_(graph) {}

  const Graph& graph_;
  std::vector<Step> steps_;
  std::vector<Tensor> constants_;
  int num_slots_ = 0;
  std::vector<int> inputs_;
  std::vector<int> outputs_;
  std::vector<std::pair<int, int>> captures_;
};

}  // namespace attnrun::exec

#endif  // ATTNRUN_EXECUTION_PLAN_H_
