// SPDX-License-Identifier: Apache-2.0
#include "fuzz/graph_maker.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "ops/composite/run_node.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

constexpr int64_t kLargestTensor = 6000;

std::vector<std::map<std::string, int64_t>> ChooseExtents(Dice& dice) {
  return {{{"batch", 2}, {"seq", 5}, {"past", 3}},
          {{"batch", 3}, {"seq", dice.Of<int64_t>({2, 4})}, {"past", 7}},
          {{"batch", dice.Of<int64_t>({0, 1, 1, 2})},
           {"seq", dice.Of<int64_t>({1, 1, 2, 6})},
           {"past", dice.Of<int64_t>({1, 4})}}};
}

Tensor Uniform(DataType type, const std::vector<int64_t>& shape, double low, double high,
               Dice& dice) {
  if (!IsFloatingPoint(type)) {
    return RandomInts(type, shape, dice.generator(), static_cast<int64_t>(low),
                      static_cast<int64_t>(high));
  }
  std::vector<double> elements(NumElements(shape).value());
  std::uniform_real_distribution<double> uniform(low, high);
  for (double& element : elements) element = uniform(dice.generator());
  return FromDoubles(type, shape, elements).value();
}

bool IsTame(const Tensor& tensor) {
  if (!IsFloatingPoint(tensor.type())) return true;
  return std::ranges::all_of(ToDoubles(tensor).value(),
                             [](double x) { return std::fabs(x) < 1e3; });
}

}  // namespace

GraphMaker::GraphMaker(uint32_t seed, absl::Span<const uint8_t> chosen)
    : dice_(seed, chosen),
      opset_(static_cast<int>(dice_.Of<int64_t>({17, 20, 23}))),
      builder_(graph_, opset_),
      extents_(ChooseExtents(dice_)) {}

Value* GraphMaker::Fail() {
  failed_ = true;
  return nullptr;
}

Value* GraphMaker::Input(DataType type, const std::vector<DimSpec>& shape, double low,
                         double high) {
  Type known;
  known.element = type;
  known.shape.emplace();
  for (const DimSpec& spec : shape) known.shape->push_back(spec.dim);
  Value* input = graph_.AddInput(absl::StrCat("in", num_inputs_++), known).value();
  for (const auto& extents : extents_) {
    std::vector<int64_t> dims;
    for (const DimSpec& spec : shape) {
      dims.push_back(spec.dim.is_fixed() ? spec.dim.value : extents.at(spec.dim.symbol));
    }
    tensors_[input].push_back(Uniform(type, dims, low, high, dice_));
  }
  Keep(input);
  return input;
}

bool GraphMaker::Compute(const Node* node) {
  std::vector<std::vector<Tensor>> results;
  for (int binding = 0; binding < kBindings; ++binding) {
    std::vector<Tensor> inputs;
    for (const Value* input : node->inputs()) {
      inputs.push_back(input == nullptr ? Tensor() : At(input, binding));
    }
    auto outputs = ops::RunReference(*node, inputs, Allocator::Heap());
    if (!outputs.ok()) return false;
    for (const Tensor& output : *outputs) {
      if (output.num_elements() > kLargestTensor) return false;
      if (!results.empty() && output.rank() != results[0][0].rank()) return false;
    }
    results.push_back(*std::move(outputs));
  }
  for (size_t i = 0; i < node->outputs().size(); ++i) {
    for (const auto& outputs : results) tensors_[node->output(i)].push_back(outputs[i]);
  }
  return true;
}

std::vector<Value*> GraphMaker::Ops(const std::string& op_type, int outputs,
                                    std::vector<Value*> inputs, AttributeMap attributes) {
  std::vector<Value*> none(outputs, nullptr);
  if (failed_) return none;
  std::vector<Value*> results =
      builder_.Ops(op_type, outputs, std::move(inputs), std::move(attributes));
  Node* node = results[0]->producer();
  if (Compute(node)) return results;
  graph_.RemoveNode(node);
  failed_ = true;
  return none;
}

Value* GraphMaker::Op(const std::string& op_type, std::vector<Value*> inputs,
                      AttributeMap attributes) {
  return Ops(op_type, 1, std::move(inputs), std::move(attributes))[0];
}

Value* GraphMaker::Commute(const std::string& op_type, Value* a, Value* b) {
  if (dice_.Chance(0.5)) std::swap(a, b);
  return Op(op_type, {a, b});
}

const Tensor& GraphMaker::At(const Value* value, int binding) const {
  static const Tensor none;
  if (value == nullptr) return none;
  const Tensor* constant = value->constant();
  return constant != nullptr ? *constant : tensors_.at(value)[binding];
}

std::optional<int64_t> GraphMaker::Extent(const Value* value, int64_t axis) const {
  const int64_t place = axis < 0 ? axis + Rank(value) : axis;
  if (place < 0 || place >= Rank(value)) return std::nullopt;
  const int64_t extent = At(value, 0).dim(static_cast<int>(place));
  for (int binding = 1; binding < kBindings; ++binding) {
    if (At(value, binding).dim(static_cast<int>(place)) != extent) return std::nullopt;
  }
  return extent;
}

bool GraphMaker::HasExtentOf(const Value* value, int64_t axis, const std::string& symbol) const {
  const int64_t place = axis < 0 ? axis + Rank(value) : axis;
  for (int binding = 0; binding < kBindings; ++binding) {
    const int64_t extent = At(value, binding).dim(static_cast<int>(place));
    if (extent != extents_[binding].at(symbol)) return false;
  }
  return true;
}

bool GraphMaker::SameShape(const Value* a, const Value* b) const {
  for (int binding = 0; binding < kBindings; ++binding) {
    if (At(a, binding).shape() != At(b, binding).shape()) return false;
  }
  return true;
}

void GraphMaker::Keep(Value* value) {
  if (value == nullptr || failed_) return;
  for (int binding = 0; binding < kBindings; ++binding) {
    if (!IsTame(At(value, binding))) return;
  }
  pool_.push_back(value);
}

Value* GraphMaker::Any(const Filter& filter) {
  std::vector<Value*> found;
  for (Value* value : pool_) {
    if (filter(value)) found.push_back(value);
  }
  if (found.empty()) return Fail();
  // Mostly the later one of two draws.
  const auto last = static_cast<int64_t>(found.size()) - 1;
  const int64_t place = dice_.Int(0, last);
  return found[dice_.Chance(0.7) ? std::max(place, dice_.Int(0, last)) : place];
}

Value* GraphMaker::AnyFloat(int min_rank) {
  return Any([&](const Value* value) {
    return TypeOf(value) == DataType::kFloat && Rank(value) >= min_rank;
  });
}

Trial GraphMaker::Finish() {
  Trial trial;
  for (int binding = 0; binding < kBindings; ++binding) {
    TensorMap& inputs = trial.bindings.emplace_back();
    for (const Value* input : graph_.inputs()) inputs[input->name()] = At(input, binding);
  }
  std::vector<Value*> computed;
  for (const Node* node : graph_.nodes()) {
    for (Value* output : node->outputs()) {
      const double likely = output->consumers().empty() ? 0.7 : 0.04;
      const bool constant = node->op_type() == "Constant";
      if (!constant) computed.push_back(output);
      if (!constant && dice_.Chance(likely)) graph_.AddOutput(output);
    }
  }
  if (graph_.outputs().empty() && !computed.empty()) graph_.AddOutput(computed.back());
  trial.draft = DraftOf(graph_).value();
  return trial;
}

}  // namespace attnrun::testing
