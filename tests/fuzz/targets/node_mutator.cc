// SPDX-License-Identifier: Apache-2.0
#include "fuzz/targets/node_mutator.h"

#include <cmath>
#include <iterator>
#include <limits>

#include "core/elements.h"

namespace attnrun::testing {
namespace {

constexpr int64_t kMostElements = 4096;

// An extent of tensors that have no elements.
constexpr int64_t kHuge = int64_t{1} << 31;

const std::vector<SampleNode>& Samples() {
  static const auto& samples = *new std::vector<SampleNode>(AllSamples());
  return samples;
}

int64_t Number(int64_t old, Choices& choices) {
  // Sums as of unsigned numbers, which may overflow.
  const auto bits = static_cast<uint64_t>(old);
  switch (choices.Int(0, 7)) {
    case 0:
      return static_cast<int64_t>(bits + 1);
    case 1:
      return static_cast<int64_t>(bits - 1);
    case 2:
      return static_cast<int64_t>(0 - bits);
    case 3:
      return choices.Of({int64_t{1} << 40, int64_t{1} << 31, int64_t{1} << 62, -(int64_t{1} << 31),
                         std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()});
    default:
      return choices.Int(-2, 9);
  }
}

void ChangeList(std::vector<int64_t>& list, Choices& choices) {
  if (list.empty() || choices.OneIn(4)) {
    list.push_back(Number(1, choices));
  } else if (choices.OneIn(4)) {
    list.pop_back();
  } else {
    int64_t& one = list[choices.Int(0, std::ssize(list) - 1)];
    one = Number(one, choices);
  }
}

// Numbers of any type that tensors of a sample may have, from about -2 to 2, and more for integers.
Tensor Fresh(DataType type, const std::vector<int64_t>& shape, Choices& choices) {
  const int64_t count = NumElements(shape).value_or(0);
  if (type == DataType::kString) {
    std::vector<std::string> texts(count, "a b");
    if (!texts.empty()) texts[0] = choices.Text(8);
    return Tensor::Of<std::string>(shape, texts).value_or(Tensor());
  }
  auto seed = static_cast<uint32_t>(choices.Byte());
  std::vector<double> numbers(count);
  for (double& number : numbers) {
    seed = seed * 1664525 + 1013904223;
    number = (static_cast<double>(seed >> 16) / 65536 - 0.5) * 4;
    if (!IsFloatingPoint(type)) number = std::floor(number * 2);
  }
  return FromDoubles(type, shape, numbers).value_or(Tensor());
}

std::vector<int64_t> SomeShape(Choices& choices) {
  std::vector<int64_t> shape(choices.Int(0, 5));
  int64_t count = 1;
  for (int64_t& extent : shape) {
    extent = choices.Of<int64_t>({1, 2, 3, 4, 5, 0, 7, 8, 16, 17, 33, 64});
    if (count * extent > kMostElements) extent = 1;
    count *= extent;
  }
  return shape;
}

Tensor* SomeInput(NodeTrial& trial, Choices& choices) {
  std::vector<Tensor>& inputs = trial.node.inputs;
  if (inputs.empty()) return nullptr;
  Tensor& input = inputs[choices.Int(0, std::ssize(inputs) - 1)];
  return input.defined() && !input.is_sequence() ? &input : nullptr;
}

void ChangeAttribute(NodeTrial& trial, Choices& choices) {
  AttributeMap& attributes = trial.node.attributes;
  if (attributes.empty()) return;
  const auto entry = std::next(attributes.begin(), choices.Int(0, std::ssize(attributes) - 1));
  if (choices.OneIn(8)) {
    attributes.erase(entry->first);
  } else if (auto* number = std::get_if<int64_t>(&entry->second)) {
    *number = Number(*number, choices);
  } else if (auto* real = std::get_if<float>(&entry->second)) {
    *real = choices.Of({*real * 2, -*real, 0.0F, *real + 1, NAN, INFINITY, 1e30F});
    trial.tame = trial.tame && std::fabs(*real) < 100;
  } else if (auto* list = std::get_if<std::vector<int64_t>>(&entry->second)) {
    ChangeList(*list, choices);
  } else if (auto* text = std::get_if<std::string>(&entry->second)) {
    *text = choices.Text(16);
  }
}

// Takes an attribute from another sample, more often from one of the same operator.
void BorrowAttribute(NodeTrial& trial, Choices& choices) {
  const auto start = choices.Int(0, std::ssize(Samples()) - 1);
  for (int64_t i = 0; i < std::ssize(Samples()); ++i) {
    const SampleNode& other = Samples()[(start + i) % std::ssize(Samples())];
    if (other.attributes.empty() || other.op_type != trial.node.op_type) continue;
    const auto& attributes = choices.OneIn(8) ? Samples()[start].attributes : other.attributes;
    if (attributes.empty()) return;
    const auto chosen = std::next(attributes.begin(), choices.Int(0, std::ssize(attributes) - 1));
    trial.node.attributes.insert({*chosen});
    return;
  }
}

void AddAttribute(NodeTrial& trial, Choices& choices) {
  static constexpr const char* kNames[] = {
      "axis",      "axes",         "keepdims",  "mode",    "group",      "strides", "pads",
      "dilations", "alpha",        "num_heads", "epsilon", "block_size", "to",      "transB",
      "perm",      "kernel_shape", "is_causal", "softcap", "scale",      "saturate"};
  AttributeValue value;
  switch (choices.Int(0, 2)) {
    case 0:
      value = Number(0, choices);
      break;
    case 1:
      value = std::vector<int64_t>{Number(0, choices), Number(1, choices)};
      break;
    default:
      value = 0.5F;
  }
  trial.node.attributes[kNames[choices.Int(0, std::ssize(kNames) - 1)]] = std::move(value);
}

void ChangeShape(NodeTrial& trial, Choices& choices) {
  Tensor* input = SomeInput(trial, choices);
  if (input == nullptr) return;
  std::vector<int64_t> shape(input->shape().begin(), input->shape().end());
  if (shape.empty() || choices.OneIn(4)) {
    shape = SomeShape(choices);
  } else {
    int64_t& extent = shape[choices.Int(0, std::ssize(shape) - 1)];
    extent = choices.Of<int64_t>({1, 0, 2, 3, 5, 8, 16, 17, 32, 40, kHuge});
  }
  const auto count = NumElements(shape);
  if (count.ok() && *count <= kMostElements) *input = Fresh(input->type(), shape, choices);
}

// Scales all inputs to the same longer extent where they had the same one, so that more than one
// tile of a kernel is at work.
void Stretch(NodeTrial& trial, Choices& choices) {
  const Tensor* model = SomeInput(trial, choices);
  if (model == nullptr || model->rank() == 0) return;
  const int64_t from = model->dim(static_cast<int>(choices.Int(0, model->rank() - 1)));
  const int64_t to = choices.Of<int64_t>({1, 2, 5, 8, 16, 31, 32, 33, 48, 64, 65, 0, kHuge});
  for (Tensor& input : trial.node.inputs) {
    if (!input.defined() || input.is_sequence()) continue;
    std::vector<int64_t> shape(input.shape().begin(), input.shape().end());
    std::ranges::replace(shape, from, to);
    const auto count = NumElements(shape);
    if (shape.empty() || !count.ok() || *count > 4 * kMostElements) continue;
    if (!std::ranges::equal(shape, input.shape())) input = Fresh(input.type(), shape, choices);
  }
}

// True unless sums and products of such numbers may overflow or vanish.
bool IsTame(double number) {
  const double size = std::fabs(number);
  return size == 0 || (size > 1e-6 && size <= 1000);
}

void ChangeType(NodeTrial& trial, Choices& choices) {
  Tensor* input = SomeInput(trial, choices);
  if (input == nullptr) return;
  const auto type = static_cast<DataType>(choices.Int(1, 26));
  // All inputs of the old type, or one of them.
  const DataType old = input->type();
  const bool all = !choices.OneIn(4);
  const auto change = [&](Tensor& tensor) {
    const auto numbers = ToDoubles(tensor);
    Tensor changed;
    if (numbers.ok()) {
      changed = FromDoubles(type, tensor.shape(), *numbers).value_or(Tensor());
      // An unsigned -1 is large.
      trial.tame = trial.tame && (!IsFloatingPoint(type) || std::ranges::all_of(*numbers, IsTame));
    }
    const std::vector<int64_t> shape(tensor.shape().begin(), tensor.shape().end());
    tensor = changed.defined() ? changed : Fresh(type, shape, choices);
  };
  if (!all) return change(*input);
  for (Tensor& tensor : trial.node.inputs) {
    if (tensor.defined() && tensor.type() == old) change(tensor);
  }
}

void ChangeElement(NodeTrial& trial, Choices& choices) {
  Tensor* input = SomeInput(trial, choices);
  if (input == nullptr || input->num_elements() == 0) return;
  const int64_t at = choices.Int(0, input->num_elements() - 1);
  if (IsInteger(input->type())) {
    std::vector<int64_t> numbers = ToInts(*input).value();
    numbers[at] = Number(numbers[at], choices);
    *input = FromInts(input->type(), input->shape(), numbers).value();
  } else if (IsFloatingPoint(input->type())) {
    std::vector<double> numbers = ToDoubles(*input).value();
    numbers[at] =
        choices.Of({0.0, -0.0, 1.0, 2.5, -100.0, static_cast<double>(NAN),
                    static_cast<double>(INFINITY), -static_cast<double>(INFINITY), 1e30, 1e-40});
    trial.tame = trial.tame && IsTame(numbers[at]);
    *input = FromDoubles(input->type(), input->shape(), numbers).value();
  }
}

void ChangeInputs(NodeTrial& trial, Choices& choices) {
  std::vector<Tensor>& inputs = trial.node.inputs;
  const SampleNode& other = choices.Pick(Samples());
  switch (choices.Int(0, 3)) {
    case 0:
      if (!inputs.empty()) inputs.pop_back();
      return;
    case 1:
      inputs.push_back(other.inputs.empty() ? Tensor() : choices.Pick(other.inputs));
      return;
    case 2:
      if (!inputs.empty()) inputs[choices.Int(0, std::ssize(inputs) - 1)] = Tensor();
      return;
    default:
      if (!inputs.empty())
        std::swap(inputs.front(), inputs[choices.Int(0, std::ssize(inputs) - 1)]);
  }
}

void ChangeForm(NodeTrial& trial, Choices& choices) {
  if (choices.OneIn(2)) {
    trial.node.num_outputs = static_cast<int>(choices.Int(1, 5));
  } else {
    trial.node.opset = static_cast<int>(choices.Int(7, 28));
  }
}

}  // namespace

NodeTrial MakeNodeTrial(Choices& choices) {
  static constexpr void (*kChanges[])(NodeTrial&, Choices&) = {
      ChangeAttribute, BorrowAttribute, AddAttribute, ChangeShape,   ChangeShape,  Stretch,
      Stretch,         ChangeType,      ChangeType,   ChangeElement, ChangeInputs, ChangeForm};
  NodeTrial trial{choices.Pick(Samples())};
  for (int64_t left = choices.Int(0, 4); left > 0; --left) {
    kChanges[choices.Int(0, std::ssize(kChanges) - 1)](trial, choices);
  }
  const int64_t constant = choices.Int(0, 255);
  for (size_t i = 0; i < trial.node.inputs.size(); ++i) {
    trial.constant.push_back((constant >> (i % 8) & 1) != 0);
  }
  return trial;
}

}  // namespace attnrun::testing
