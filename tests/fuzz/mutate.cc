// SPDX-License-Identifier: Apache-2.0
#include "fuzz/mutate.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "fuzz/graph_maker.h"

namespace attnrun::testing {
namespace {

DraftNode& SomeNode(Draft& draft, Dice& dice) {
  return draft.nodes[dice.Int(0, std::ssize(draft.nodes) - 1)];
}

// A nearby number; rarely one that is out of range for any axis, extent or position.
int64_t Changed(int64_t number, Dice& dice) {
  constexpr int64_t kFar = int64_t{1} << 40;
  if (std::clamp(number, -kFar, kFar) == number && !dice.Chance(0.05)) {
    return dice.Of({number + 1, number - 1, -number, int64_t{0}});
  }
  return dice.Of({std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min(), kFar});
}

void ChangeInts(std::vector<int64_t>& ints, Dice& dice) {
  if (ints.empty()) return;
  if (dice.Chance(0.25)) {
    std::ranges::shuffle(ints, dice.generator());
  } else {
    int64_t& one = ints[dice.Int(0, std::ssize(ints) - 1)];
    one = Changed(one, dice);
  }
}

std::string ChangeAttribute(Draft& draft, Dice& dice) {
  DraftNode& node = SomeNode(draft, dice);
  if (node.attributes.empty()) return "";
  auto entry = node.attributes.begin();
  std::advance(entry, dice.Int(0, std::ssize(node.attributes) - 1));
  if (dice.Chance(0.1)) {
    const std::string name = entry->first;
    node.attributes.erase(name);
    return absl::StrCat("no ", name, " at ", node.name);
  }
  if (auto* number = std::get_if<int64_t>(&entry->second)) {
    *number = Changed(*number, dice);
  } else if (auto* real = std::get_if<float>(&entry->second)) {
    *real = dice.Of({*real * 2, -*real, 0.0F, *real + 1});
  } else if (auto* ints = std::get_if<std::vector<int64_t>>(&entry->second)) {
    ChangeInts(*ints, dice);
  } else {
    return "";
  }
  return absl::StrCat(entry->first, "=", ToString(entry->second), " at ", node.name);
}

// Changes shapes, axes, bounds, epsilons or scales.
std::string ChangeConstant(Draft& draft, Dice& dice) {
  constexpr int64_t kShort = 8;
  DraftNode& node = SomeNode(draft, dice);
  if (node.inputs.empty()) return "";
  std::string& input = node.inputs[dice.Int(0, std::ssize(node.inputs) - 1)];
  const auto found = draft.constants.find(input);
  if (found == draft.constants.end() || found->second.num_elements() > kShort) return "";
  const Tensor& old = found->second;
  const std::string name = absl::StrCat(input, "~", draft.constants.size());
  Tensor changed;
  if (IsInteger(old.type())) {
    std::vector<int64_t> ints = ToInts(old).value();
    ChangeInts(ints, dice);
    changed = FromInts(old.type(), old.shape(), ints).value();
  } else if (IsFloatingPoint(old.type()) && old.num_elements() > 0) {
    std::vector<double> numbers = ToDoubles(old).value();
    double& one = numbers[dice.Int(0, std::ssize(numbers) - 1)];
    one = dice.Of({one * 2, -one, 0.0, 1.0, one + 0.5});
    changed = FromDoubles(old.type(), old.shape(), numbers).value();
  } else {
    return "";
  }
  draft.constants[name] = changed;
  input = name;
  return absl::StrCat("constant ", name, " at ", node.name);
}

std::string SwapInputs(Draft& draft, Dice& dice) {
  DraftNode& node = SomeNode(draft, dice);
  if (node.inputs.size() < 2) return "";
  std::swap(node.inputs[0], node.inputs[1]);
  return absl::StrCat("swapped inputs of ", node.name);
}

// Inserts a node between an input of a node and the node.
std::string Insert(Draft& draft, Dice& dice) {
  const int64_t at = dice.Int(0, std::ssize(draft.nodes) - 1);
  DraftNode& reader = draft.nodes[at];
  if (reader.inputs.empty()) return "";
  std::string& input = reader.inputs[dice.Int(0, std::ssize(reader.inputs) - 1)];
  if (input.empty()) return "";
  static const std::vector<DraftNode> kNodes = {{"", "Identity", "", 0, {}, {}, {}},
                                                {"", "Cast", "", 0, {}, {}, {{"to", int64_t{1}}}},
                                                {"", "Cast", "", 0, {}, {}, {{"to", int64_t{11}}}},
                                                {"", "Neg", "", 0, {}, {}, {}},
                                                {"", "Transpose", "", 0, {}, {}, {}},
                                                {"", "Relu", "", 0, {}, {}, {}},
                                                {"", "Tanh", "", 0, {}, {}, {}}};
  DraftNode added = dice.Pick(kNodes);
  added.name = absl::StrCat(added.op_type, "~", draft.nodes.size());
  added.opset = reader.opset;
  added.inputs = {input};
  added.outputs = {absl::StrCat(input, "~", draft.nodes.size())};
  input = added.outputs[0];
  std::string done = absl::StrCat(added.op_type, " before ", reader.name);
  draft.nodes.insert(draft.nodes.begin() + at, std::move(added));
  return done;
}

std::string AddOutput(Draft& draft, Dice& dice) {
  const DraftNode& node = SomeNode(draft, dice);
  const std::string& name = node.outputs[dice.Int(0, std::ssize(node.outputs) - 1)];
  if (name.empty() || std::ranges::count(draft.outputs, name) > 0) return "";
  draft.outputs.push_back(name);
  return absl::StrCat("output ", name);
}

std::string AddReader(Draft& draft, Dice& dice) {
  const DraftNode node = SomeNode(draft, dice);
  if (node.outputs[0].empty()) return "";
  const std::string name = absl::StrCat("Identity~", draft.nodes.size());
  draft.nodes.push_back({name, "Identity", "", 20, {node.outputs[0]}, {name}, {}});
  draft.outputs.push_back(name);
  return absl::StrCat("a reader of ", node.outputs[0]);
}

// Makes the rank of an input unknown, or one of its extents.
std::string ForgetShape(Draft& draft, Dice& dice) {
  if (draft.inputs.empty()) return "";
  auto input = draft.inputs.begin();
  std::advance(input, dice.Int(0, std::ssize(draft.inputs) - 1));
  auto& shape = input->second.shape;
  if (!shape.has_value() || shape->empty()) return "";
  if (dice.Chance(0.5)) {
    shape.reset();
  } else {
    (*shape)[dice.Int(0, std::ssize(*shape) - 1)] = {};
  }
  return absl::StrCat("input ", input->first, " without its shape");
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

}  // namespace

std::string Mutate(Draft& draft, std::mt19937& generator) {
  static constexpr std::string (*kMutations[])(Draft&, Dice&) = {
      ChangeAttribute, ChangeConstant, ChangeConstant, SwapInputs, Insert,
      AddOutput,       AddReader,      BorrowInput,    ForgetShape};
  Dice dice(static_cast<uint32_t>(generator()));
  return kMutations[dice.Int(0, std::ssize(kMutations) - 1)](draft, dice);
}

}  // namespace attnrun::testing
