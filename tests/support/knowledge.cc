// SPDX-License-Identifier: Apache-2.0
#include "support/knowledge.h"

#include "support/qualified_name.h"

namespace attnrun::testing {
namespace {

// A symbol that stands for the number n. Negative numbers and 0 stay numbers, because they have a
// special meaning to a Reshape.
SymInt AsSymbol(const SymInt& value) {
  const int64_t number = *value.constant();
  return number <= 0 ? value : SymInt::Symbol("e" + std::to_string(number));
}

Known Blurred(const Known& list, Knowledge knowledge) {
  if (!list.has_value() || knowledge == Knowledge::kNothing) return std::nullopt;
  Dims result;
  for (const SymInt& element : *list) {
    result.push_back(knowledge == Knowledge::kSymbols ? AsSymbol(element) : element);
  }
  return result;
}

}  // namespace

InferNode KnownNode(const SampleNode& sample, Knowledge of_dims, Knowledge of_contents) {
  InferNode node{sample.op_type, {}, sample.attributes, sample.num_outputs, sample.opset};
  for (const Tensor& input : sample.inputs) {
    node.inputs.emplace_back();
    if (!input.defined()) continue;
    const ops::ValueFacts facts = ops::FactsOf(input);
    node.inputs.back() = {facts.type, Blurred(facts.dims, of_dims),
                          Blurred(facts.contents, of_contents)};
  }
  return node;
}

InferNode KnownNode(const SampleNode& sample, Knowledge of_dims, size_t i, Knowledge of_dims_of_i) {
  InferNode node = KnownNode(sample, of_dims, Knowledge::kNumbers);
  node.inputs[i] = KnownNode(sample, of_dims_of_i, Knowledge::kNumbers).inputs[i];
  return node;
}

OpTester TesterOf(const SampleNode& sample) {
  const QualifiedName name(sample.op_type);
  OpTester tester(name.op_type, name.is_standard() ? sample.opset : 1, name.domain);
  for (const Tensor& input : sample.inputs) tester.Input(input);
  for (const auto& [name, value] : sample.attributes) tester.Attribute(name, value);
  return tester.Outputs(sample.num_outputs);
}

}  // namespace attnrun::testing
