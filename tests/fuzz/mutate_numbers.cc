// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "fuzz/mutations.h"

namespace attnrun::testing {
namespace {

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

// Makes all elements of a list equal to some number, or one of them.
template <typename T>
void SetSome(std::vector<T>& list, T number, Dice& dice) {
  if (list.empty()) return;
  if (dice.Chance(0.25)) {
    std::ranges::fill(list, number);
  } else {
    list[dice.Int(0, std::ssize(list) - 1)] = number;
  }
}

// A constant of a few elements that a node reads; null if the node drawn has none.
std::string* SomeConstant(Draft& draft, Dice& dice, int64_t most) {
  DraftNode& node = SomeNode(draft, dice);
  if (node.inputs.empty()) return nullptr;
  std::string& input = node.inputs[dice.Int(0, std::ssize(node.inputs) - 1)];
  const auto found = draft.constants.find(input);
  if (found == draft.constants.end() || found->second.num_elements() > most) return nullptr;
  return &input;
}

// Changes shapes, axes, bounds, epsilons or scales.
std::string ChangeConstant(Draft& draft, Dice& dice) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::string* const input = SomeConstant(draft, dice, 8);
  if (input == nullptr) return "";
  const Tensor& old = draft.constants.at(*input);
  Tensor changed;
  if (IsInteger(old.type())) {
    std::vector<int64_t> ints = ToInts(old).value();
    ChangeInts(ints, dice);
    changed = FromInts(old.type(), old.shape(), ints).value();
  } else if (IsFloatingPoint(old.type()) && old.num_elements() > 0) {
    std::vector<double> numbers = ToDoubles(old).value();
    const double one = numbers[0];
    SetSome(numbers, dice.Of({one * 2, -one, 0.0, 1.0, one + 0.5, -1e4, kInfinity, -kInfinity}),
            dice);
    changed = FromDoubles(old.type(), old.shape(), numbers).value();
  } else {
    return "";
  }
  *input = AddConstant(draft, changed);
  return absl::StrCat("constant ", *input);
}

// Gives a constant another shape: one that broadcasts otherwise, or fewer or more elements.
std::string ReshapeConstant(Draft& draft, Dice& dice) {
  std::string* const input = SomeConstant(draft, dice, 1 << 12);
  if (input == nullptr) return "";
  const Tensor& old = draft.constants.at(*input);
  if (!(IsInteger(old.type()) || IsFloatingPoint(old.type())) || old.num_elements() == 0) return "";
  Shape shape = old.shape();
  const int64_t axis = shape.empty() ? 0 : dice.Int(0, std::ssize(shape) - 1);
  switch (dice.Int(0, 3)) {
    case 0:
      shape.insert(shape.begin() + axis, 1);
      break;
    case 1:
      if (shape.empty() || shape[axis] != 1) return "";
      shape.erase(shape.begin() + axis);
      break;
    case 2:
      if (shape.empty() || shape[axis] == 1) return "";
      shape[axis] = 1;
      break;
    default:
      if (shape.empty()) return "";
      shape[axis] *= 2;
  }
  const int64_t count = NumElements(shape).value();
  const auto repeated = [&](auto elements) {
    const size_t given = elements.size();
    elements.resize(count);
    for (size_t i = given; i < elements.size(); ++i) elements[i] = elements[i - given];
    return elements;
  };
  *input = AddConstant(
      draft, IsInteger(old.type())
                 ? FromInts(old.type(), shape, repeated(ToInts(old).value())).value()
                 : FromDoubles(old.type(), shape, repeated(ToDoubles(old).value())).value());
  return absl::StrCat("constant ", *input, " of another shape");
}

}  // namespace

std::vector<Mutation> NumberMutations() {
  return {ChangeAttribute, ChangeConstant, ChangeConstant, ReshapeConstant};
}

}  // namespace attnrun::testing
