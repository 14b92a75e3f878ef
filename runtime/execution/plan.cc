// SPDX-License-Identifier: Apache-2.0
#include "execution/plan.h"

#include <algorithm>
#include <exception>
#include <new>

#include "absl/strings/str_cat.h"
#include "core/file_pages.h"
#include "core/hash_map.h"
#include "core/status.h"
#include "execution/final_nodes.h"
#include "execution/rounded_values.h"
#include "graph/attribute_key.h"
#include "ops/interface/registry.h"

namespace attnrun::exec {

namespace {

// The tensor of a value that is constant in every run, here or in an enclosing graph; null if it is
// not constant.
const Tensor* ConstantOf(const Value* value) {
  while (value != nullptr && value->outer() != nullptr) value = value->outer();
  return value != nullptr && value->is_constant() ? value->constant() : nullptr;
}

// Identifies an operator and its kernel by operator, attributes and constant inputs, so that equal
// nodes share them. Empty if no input is constant, since nothing is worth sharing then, or if an
// attribute or constant has no key.
std::string KeyOf(const Node& node) {
  std::string key = absl::StrCat(node.qualified_op_type(), "@", node.opset(), "/",
                                 node.inputs().size(), "/", node.outputs().size());
  if (!AppendKey(node.attributes(), key)) return "";
  bool constant = false;
  for (const Value* value : node.inputs()) {
    const Tensor* tensor = ConstantOf(value);
    constant = constant || tensor != nullptr;
    absl::StrAppend(&key, ",");
    if (tensor == nullptr) continue;
    if (!tensor->is_dense()) return "";
    absl::StrAppend(&key, TypeAndShape(*tensor), "@", reinterpret_cast<uintptr_t>(tensor->raw()));
  }
  return constant ? key : "";
}

}  // namespace

class PlanMaker {
 public:
  struct Prepared {
    std::shared_ptr<const ops::Op> op;
    std::shared_ptr<const ops::Kernel> kernel;
    std::string finer_reason;
  };
  // Operators and kernels made so far for this model, by KeyOf and whether the node is final.
  using PreparedMap = HashMap<std::pair<std::string, bool>, Prepared>;
  using SlotMap = HashMap<const Value*, int>;
  // `enclosing`: slots of the values of the enclosing graph; null for the main graph. `is_final`:
  // the outputs of the graph are outputs of the model.
  PlanMaker(const Graph& graph, const std::optional<KernelOptions>& options,
            const SlotMap* enclosing, bool is_final, PreparedMap& prepared)
      : graph_(graph),
        options_(options),
        enclosing_(enclosing),
        is_final_(is_final),
        prepared_(prepared),
        plan_(new Plan(graph)) {}

  absl::StatusOr<std::unique_ptr<Plan>> Make() {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Node*> order, graph_.TopologicalOrder());
    if (is_final_) final_nodes_ = FinalNodes(graph_, order);
    AssignConstants();
    AssignInputs();
    for (const Node* node : order) {
      for (const Value* value : node->outputs()) NewSlot(value);
    }
    for (const Node* node : order) ATTNRUN_RETURN_IF_ERROR(AddStep(*node));
    for (const Value* value : graph_.outputs()) plan_->outputs_.push_back(SlotOf(value));
    plan_->num_slots_ = next_slot_;
    MarkRoundedValues(absl::MakeSpan(plan_->steps_), plan_->outputs_);
    MarkLastUses();
    return std::move(plan_);
  }

 private:
  void NewSlot(const Value* value) {
    if (value != nullptr) slots_.emplace(value, next_slot_++);
  }
  int SlotOf(const Value* value) const { return value == nullptr ? -1 : slots_.at(value); }

  // Constants come first, so that the number of a slot shows whether it is a constant.
  void AssignConstants() {
    for (const Value* value : graph_.values()) {
      if (!value->is_constant()) continue;
      NewSlot(value);
      plan_->constants_.push_back(*value->constant());
    }
  }

  void AssignInputs() {
    for (const Value* value : graph_.inputs()) {
      NewSlot(value);
      plan_->inputs_.push_back(SlotOf(value));
    }
    for (const Value* value : graph_.captures()) {
      NewSlot(value);
      plan_->captures_.emplace_back(SlotOf(value), enclosing_->at(value->outer()));
    }
  }

  absl::Status AddStep(const Node& node) {
    Step step;
    step.node = &node;
    absl::StatusOr<Prepared> prepared = Prepare(node);
    if (!prepared.ok()) return Annotate(prepared.status(), node.description());
    step.op = prepared->op;
    step.kernel = prepared->kernel;
    step.finer_reason = std::move(prepared->finer_reason);
    for (const Value* value : node.inputs()) step.inputs.push_back({SlotOf(value), false});
    for (const Value* value : node.outputs()) step.outputs.push_back(SlotOf(value));
    // An If passes on what its bodies return; Loop and Scan read it again.
    const bool passes_on = node.op_type() == "If" && final_nodes_.contains(&node);
    for (const auto& [name, attribute] : node.attributes()) {
      const auto* subgraph = std::get_if<std::shared_ptr<Graph>>(&attribute);
      if (subgraph == nullptr) continue;
      PlanMaker maker(**subgraph, options_, &slots_, passes_on, prepared_);
      ATTNRUN_ASSIGN_OR_RETURN(step.subgraphs[name], maker.Make());
    }
    plan_->steps_.push_back(std::move(step));
    return absl::OkStatus();
  }

  absl::StatusOr<Prepared> Prepare(const Node& node) {
    const std::pair key = {options_.has_value() ? KeyOf(node) : "", final_nodes_.contains(&node)};
    if (const auto known = prepared_.find(key); !key.first.empty() && known != prepared_.end()) {
      return known->second;
    }
    ATTNRUN_ASSIGN_OR_RETURN(std::shared_ptr<const ops::Op> op,
                             ops::OpRegistry::Get().Create(node));
    Prepared prepared{std::move(op), nullptr, ""};
    if (options_.has_value()) ATTNRUN_RETURN_IF_ERROR(MakeKernel(node, prepared));
    if (!key.first.empty()) prepared_[key] = prepared;
    return prepared;
  }

  // Libraries used by kernels throw exceptions; none may leave attnrun.
  absl::Status MakeKernel(const Node& node, Prepared& prepared) const {
    std::vector<Tensor> constants(node.inputs().size());
    for (size_t i = 0; i < constants.size(); ++i) {
      const Tensor* constant = ConstantOf(node.input(i));
      if (constant != nullptr) constants[i] = *constant;
    }
    try {
      ATTNRUN_ASSIGN_OR_RETURN(
          prepared.kernel,
          prepared.op->MakeKernel({constants, options_->precision, options_->packed_store,
                                   final_nodes_.contains(&node), &prepared.finer_reason,
                                   options_->few_rows}));
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      return absl::InternalError(absl::StrCat("preparing the kernel failed: ", error.what()));
    }
    // A packed weight replaces the mapped one. Pages that a kernel reads in place are read from the
    // file again.
    for (const Tensor& constant : constants) {
      if (constant.defined()) ReleaseFilePages(constant.raw(), constant.byte_size());
    }
    return absl::OkStatus();
  }

  // Walks backwards, so that the first sight of a slot is its last use.
  void MarkLastUses() {
    HashSet<int> seen(plan_->outputs_.begin(), plan_->outputs_.end());
    const int constants = static_cast<int>(plan_->constants_.size());
    for (size_t i = plan_->steps_.size(); i-- > 0;) {
      Step& step = plan_->steps_[i];
      const auto first_sight = [&](int slot) {
        return slot >= constants && seen.insert(slot).second;
      };
      for (const int slot : step.outputs) {
        if (first_sight(slot)) step.dead.push_back(slot);
      }
      // Subgraphs read their captures while the step runs, so captures are never moved out.
      for (const Value* value : step.node->implicit_inputs()) {
        if (const int slot = SlotOf(value); first_sight(slot)) step.dead.push_back(slot);
      }
      for (size_t j = step.inputs.size(); j-- > 0;) {
        InputRef& input = step.inputs[j];
        input.last_use = first_sight(input.slot);
      }
    }
  }

  const Graph& graph_;
  const std::optional<KernelOptions>& options_;
  const SlotMap* enclosing_;
  const bool is_final_;
  HashSet<const Node*> final_nodes_;
  PreparedMap& prepared_;
  std::unique_ptr<Plan> plan_;
  SlotMap slots_;
  int next_slot_ = 0;
};

absl::StatusOr<std::unique_ptr<Plan>> Plan::Make(const Graph& graph,
                                                 const std::optional<KernelOptions>& options) {
  PlanMaker::PreparedMap prepared;
  return PlanMaker(graph, options, nullptr, /*is_final=*/true, prepared).Make();
}

}  // namespace attnrun::exec
