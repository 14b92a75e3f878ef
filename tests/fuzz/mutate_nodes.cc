// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "fuzz/mutations.h"

namespace attnrun::testing {
namespace {

std::string SwapInputs(Draft& draft, Dice& dice) {
  DraftNode& node = SomeNode(draft, dice);
  if (node.inputs.size() < 2) return "";
  std::swap(node.inputs[0], node.inputs[1]);
  return absl::StrCat("swapped inputs of ", node.name);
}

// Replaces an input of a node by the input of another node of the same operator.
std::string BorrowInput(Draft& draft, Dice& dice) {
  const int64_t at = dice.Int(0, std::ssize(draft.nodes) - 1);
  DraftNode& node = draft.nodes[at];
  const DraftNode& other = draft.nodes[dice.Int(0, at)];
  if (other.op_type != node.op_type || node.inputs.empty()) return "";
  const int64_t slot = dice.Int(0, std::ssize(node.inputs) - 1);
  if (slot >= std::ssize(other.inputs) || other.inputs[slot] == node.inputs[slot]) return "";
  node.inputs[slot] = other.inputs[slot];
  return absl::StrCat("input ", slot, " of ", node.name, " is that of ", other.name);
}

// Adds an input at the end, which many operators may have: a constant, or what another node reads.
std::string AddInput(Draft& draft, Dice& dice) {
  DraftNode& node = SomeNode(draft, dice);
  const DraftNode& other = SomeNode(draft, dice);
  if (dice.Chance(0.5) && !other.inputs.empty() && &other < &node) {
    node.inputs.push_back(other.inputs[dice.Int(0, std::ssize(other.inputs) - 1)]);
  } else if (dice.Chance(0.7)) {
    node.inputs.push_back(AddConstant(
        draft, Tensor::Of<float>({}, {dice.Of({0.0F, 1.0F, 0.05F, -1.0F, 100.0F})}).value()));
  } else {
    node.inputs.push_back(
        AddConstant(draft, Tensor::Of<int64_t>({1}, {dice.Of<int64_t>({0, 1, 2, -1})}).value()));
  }
  return absl::StrCat("an input more of ", node.name);
}

std::string DropInput(Draft& draft, Dice& dice) {
  DraftNode& node = SomeNode(draft, dice);
  if (node.inputs.size() < 2) return "";
  if (dice.Chance(0.6)) {
    node.inputs.pop_back();
  } else {
    node.inputs[dice.Int(0, std::ssize(node.inputs) - 1)] = "";
  }
  return absl::StrCat("an input less of ", node.name);
}

// Replaces an input by what another, earlier node computes.
std::string Rewire(Draft& draft, Dice& dice) {
  const int64_t at = dice.Int(0, std::ssize(draft.nodes) - 1);
  DraftNode& node = draft.nodes[at];
  if (at == 0 || node.inputs.empty()) return "";
  const DraftNode& other = draft.nodes[dice.Int(std::max<int64_t>(at - 12, 0), at - 1)];
  const int64_t slot = dice.Int(0, std::ssize(node.inputs) - 1);
  if (other.outputs[0].empty() || other.outputs[0] == node.inputs[slot]) return "";
  node.inputs[slot] = other.outputs[0];
  return absl::StrCat("input ", slot, " of ", node.name, " from ", other.name);
}

// Replaces an operator by another that takes the same inputs.
std::string ChangeOperator(Draft& draft, Dice& dice) {
  static const std::vector<std::vector<std::string>> kAlike = {
      {"Add", "Sub", "Mul", "Div", "Pow", "Max", "Min"},
      {"Sqrt", "Reciprocal", "Exp", "Abs", "Neg", "Erf", "Tanh", "Sigmoid", "Relu", "Cos", "Sin",
       "Identity", "HardSigmoid", "HardSwish", "Softplus"},
      {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceSumSquare"},
      {"Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"},
      {"And", "Or", "Xor"},
      {"Softmax", "LogSoftmax"},
      {"Tile", "Expand"},
      {"Max", "Min", "Sum", "Mean"}};
  DraftNode& node = SomeNode(draft, dice);
  for (const std::vector<std::string>& names : kAlike) {
    if (std::ranges::count(names, node.op_type) == 0) continue;
    const std::string& other = dice.Pick(names);
    if (other == node.op_type) return "";
    node.op_type = other;
    return absl::StrCat(other, " in place of ", node.name);
  }
  return "";
}

// Reads a node, or all of them, as another version of the standard means it.
std::string ChangeVersion(Draft& draft, Dice& dice) {
  const auto opset = static_cast<int>(dice.Int(7, 24));
  if (dice.Chance(0.5)) {
    DraftNode& node = SomeNode(draft, dice);
    node.opset = opset;
    return absl::StrCat("version ", opset, " of ", node.name);
  }
  for (DraftNode& node : draft.nodes) {
    if (node.domain.empty()) node.opset = opset;
  }
  return absl::StrCat("version ", opset);
}

}  // namespace

std::vector<Mutation> NodeMutations() {
  return {SwapInputs, BorrowInput, AddInput, DropInput, Rewire, ChangeOperator, ChangeVersion};
}

}  // namespace attnrun::testing
