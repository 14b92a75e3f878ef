#include "execution/plan.h"

#include <algorithm>
#include <exception>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/file_pages.h"
#include "core/status.h"
#include "ops/registry.h"

namespace attnrun {

class PlanMaker {
 public:
  // `enclosing`: slots of the values of the graph around this one; null for the main graph.
  using SlotMap = absl::flat_hash_map<const Value*, int>;
  PlanMaker(const Graph& graph, bool kernels, const SlotMap* enclosing)
      : graph_(graph), kernels_(kernels), enclosing_(enclosing), plan_(new Plan(graph)) {}

  absl::StatusOr<std::unique_ptr<Plan>> Make() {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Node*> order, graph_.TopologicalOrder());
    AssignConstants();
    AssignInputs();
    for (const Node* node : order) {
      for (const Value* value : node->outputs()) NewSlot(value);
    }
    for (const Node* node : order) ATTNRUN_RETURN_IF_ERROR(AddStep(*node));
    for (const Value* value : graph_.outputs()) plan_->outputs_.push_back(SlotOf(value));
    plan_->num_slots_ = next_slot_;
    MarkLastUses();
    return std::move(plan_);
  }

 private:
  void NewSlot(const Value* value) {
    if (value != nullptr) slots_.emplace(value, next_slot_++);
  }
  int SlotOf(const Value* value) const { return value == nullptr ? -1 : slots_.at(value); }

  // Constants come first, so that a slot's number tells whether it is one.
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
    absl::StatusOr<std::unique_ptr<Op>> op = OpRegistry::Get().Create(node);
    if (!op.ok()) return Annotate(op.status(), node.description());
    step.op = *std::move(op);
    for (const Value* value : node.inputs()) step.inputs.push_back({SlotOf(value), false});
    for (const Value* value : node.outputs()) step.outputs.push_back(SlotOf(value));
    if (kernels_) ATTNRUN_RETURN_IF_ERROR(Annotate(MakeKernel(step), node.description()));
    for (const auto& [name, attribute] : node.attributes()) {
      const auto* subgraph = std::get_if<std::shared_ptr<Graph>>(&attribute);
      if (subgraph == nullptr) continue;
      ATTNRUN_ASSIGN_OR_RETURN(step.subgraphs[name],
                               PlanMaker(**subgraph, kernels_, &slots_).Make());
    }
    plan_->steps_.push_back(std::move(step));
    return absl::OkStatus();
  }

  // Libraries underneath report by exceptions; none may leave attnrun.
  absl::Status MakeKernel(Step& step) {
    std::vector<Tensor> constants(step.inputs.size());
    const int count = static_cast<int>(plan_->constants_.size());
    for (size_t i = 0; i < constants.size(); ++i) {
      const int slot = step.inputs[i].slot;
      if (slot >= 0 && slot < count) constants[i] = plan_->constants_[slot];
    }
    try {
      ATTNRUN_ASSIGN_OR_RETURN(step.kernel, step.op->MakeKernel(constants));
    } catch (const std::exception& error) {
      return absl::InternalError(absl::StrCat("preparing the kernel failed: ", error.what()));
    }
    // A packed weight replaces the mapped one; what a kernel reads where it lies comes back.
    for (const Tensor& constant : constants) {
      if (constant.defined()) ReleaseFilePages(constant.raw(), constant.byte_size());
    }
    return absl::OkStatus();
  }

  // Walks backwards: the first sight of a slot is its last use.
  void MarkLastUses() {
    absl::flat_hash_set<int> seen(plan_->outputs_.begin(), plan_->outputs_.end());
    const int constants = static_cast<int>(plan_->constants_.size());
    for (size_t i = plan_->steps_.size(); i-- > 0;) {
      Step& step = plan_->steps_[i];
      const auto first_sight = [&](int slot) {
        return slot >= constants && seen.insert(slot).second;
      };
      for (const int slot : step.outputs) {
        if (first_sight(slot)) step.dead.push_back(slot);
      }
      // Subgraphs read their captures while the step runs, so these are never moved out.
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
  const bool kernels_;
  const SlotMap* enclosing_;
  std::unique_ptr<Plan> plan_;
  SlotMap slots_;
  int next_slot_ = 0;
};

absl::StatusOr<std::unique_ptr<Plan>> Plan::Make(const Graph& graph, bool kernels) {
  return PlanMaker(graph, kernels, nullptr).Make();
}

}  // namespace attnrun
