// SPDX-License-Identifier: Apache-2.0
#include "fuzz/mutate.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "fuzz/mutations.h"

namespace attnrun::testing {
namespace {

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

std::vector<Mutation> AllMutations() {
  std::vector<Mutation> all = {Insert, AddOutput, AddReader, ForgetShape};
  for (const auto& some : {NumberMutations(), NodeMutations()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace

std::string Mutate(Draft& draft, std::mt19937& generator) {
  static const auto& mutations = *new std::vector<Mutation>(AllMutations());
  Dice dice(static_cast<uint32_t>(generator()));
  return dice.Pick(mutations)(draft, dice);
}

}  // namespace attnrun::testing
