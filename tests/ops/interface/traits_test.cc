// SPDX-License-Identifier: Apache-2.0
// The traits of operators, held against their reference code on all samples.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "core/elements.h"
#include "core/strided.h"
#include "ops/interface/registry.h"
#include "support/axes_tester.h"
#include "support/knowledge.h"

namespace attnrun::testing {
namespace {

ops::OpTraits TraitsOf(const SampleNode& sample) {
  Graph graph;
  return ops::TraitsOf(*AddTo(graph, KnownNode(sample, Knowledge::kNumbers, Knowledge::kNumbers)));
}

// Calls `check` for the samples of the operators that have a trait.
template <typename Check>
void ForEachSampleWith(bool ops::OpTraits::* trait, Check check) {
  for (const SampleNode& sample : AllSamples()) {
    if (!(TraitsOf(sample).*trait)) continue;
    SCOPED_TRACE(sample.op_type);
    check(sample, SampleRun(sample));
    if (::testing::Test::HasFailure()) return;
  }
}

// Elements changed one by one, and none into another's old value.
Tensor Relabelled(const Tensor& tensor) {
  if (tensor.type() == DataType::kString) {
    std::vector<std::string> words = ToStrings(tensor).value();
    for (std::string& word : words) word += '\'';
    return Make<std::string>({tensor.shape().begin(), tensor.shape().end()}, words);
  }
  Tensor copy = Tensor::Allocate(tensor.type(), tensor.shape()).value();
  const auto* from = static_cast<const uint8_t*>(tensor.raw());
  auto* to = static_cast<uint8_t*>(copy.mutable_raw());
  std::transform(from, from + tensor.byte_size(), to, [](uint8_t byte) { return byte ^ 1; });
  return copy;
}

// All bytes of a tensor, cut into elements, in ascending order.
std::vector<std::string> SortedElements(const Tensor& tensor) {
  if (tensor.type() == DataType::kString) {
    std::vector<std::string> words = ToStrings(tensor).value();
    std::sort(words.begin(), words.end());
    return words;
  }
  std::vector<std::string> elements;
  const size_t width = tensor.byte_size() / std::max<int64_t>(tensor.num_elements(), 1);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    elements.emplace_back(static_cast<const char*>(tensor.raw()) + i * width, width);
  }
  std::sort(elements.begin(), elements.end());
  return elements;
}

// If all axes of the output are in tracks, which axes_test checks, an element of the output depends
// on one place of the inputs: choices of one position, axis after axis, make all places equal.
TEST(TraitsTest, ElementwiseOperatorsHaveTracksOfAllAxes) {
  ForEachSampleWith(&ops::OpTraits::elementwise,
                    [](const SampleNode& sample, const SampleRun& run) {
                      ASSERT_EQ(run.outputs().size(), 1);
                      const ops::AxisRule rule = RulesOf(sample)[0];
                      for (int axis = 0; axis < run.outputs()[0].rank(); ++axis) {
                        if (run.outputs()[0].dim(axis) < 2) continue;
                        EXPECT_NE(rule.OfOutput(0, axis), nullptr) << "axis " << axis;
                      }
                    });
}

// Any operand may be cut to its first element.
TEST(TraitsTest, BroadcastingOperatorsTakeOperandsOfAnyShape) {
  ForEachSampleWith(&ops::OpTraits::broadcasts, [](const SampleNode& sample, const SampleRun& run) {
    EXPECT_TRUE(TraitsOf(sample).elementwise);
    for (size_t i = 0; i < sample.inputs.size(); ++i) {
      std::vector<Tensor> inputs = sample.inputs;
      for (int axis = 0; axis < inputs[i].rank(); ++axis) {
        inputs[i] = GatheredAlong(inputs[i], axis, {0});
      }
      Shape expected;
      for (const Tensor& input : inputs) {
        expected = BroadcastShapes(expected, input.shape()).value();
      }
      const std::vector<Tensor> outputs = run.Run(inputs);
      ASSERT_EQ(outputs.size(), 1);
      EXPECT_EQ(outputs[0].shape(), expected) << "input " << i;
    }
  });
}

TEST(TraitsTest, OperatorsThatMoveElementsDoNotLookAtThem) {
  ForEachSampleWith(&ops::OpTraits::moves_elements,
                    [](const SampleNode& sample, const SampleRun& run) {
                      std::vector<Tensor> inputs = sample.inputs;
                      inputs[0] = Relabelled(inputs[0]);
                      std::vector<Tensor> expected;
                      for (const Tensor& output : run.outputs()) {
                        expected.push_back(Relabelled(output));
                      }
                      run.ExpectOutputs(inputs, expected);
                    });
}

TEST(TraitsTest, RearrangingOperatorsKeepEachElementOnce) {
  ForEachSampleWith(&ops::OpTraits::rearranges, [](const SampleNode& sample, const SampleRun& run) {
    EXPECT_TRUE(TraitsOf(sample).moves_elements);
    ASSERT_EQ(run.outputs().size(), 1);
    EXPECT_EQ(SortedElements(run.outputs()[0]), SortedElements(sample.inputs[0]));
  });
}

TEST(TraitsTest, OperatorsThatKeepTheOrderChangeTheShapeAlone) {
  ForEachSampleWith(&ops::OpTraits::keeps_order,
                    [](const SampleNode& sample, const SampleRun& run) {
                      EXPECT_TRUE(TraitsOf(sample).rearranges);
                      const Tensor& x = sample.inputs[0];
                      EXPECT_TRUE(SameBits(run.outputs()[0].Reshaped(x.shape()).value(), x));
                    });
}

// Each trait is of some use to some operator, and none is left unchecked for want of a sample.
TEST(TraitsTest, EveryOperatorWithATraitHasASample) {
  std::vector<std::string> sampled;
  for (const SampleNode& sample : AllSamples()) sampled.push_back(sample.op_type);
  for (const ops::OpDef* def : ops::OpRegistry::Get().All()) {
    if (!def->traits.elementwise && !def->traits.moves_elements) continue;
    const std::string name = def->domain.empty() ? def->name : def->domain + "::" + def->name;
    EXPECT_TRUE(std::find(sampled.begin(), sampled.end(), name) != sampled.end()) << name;
  }
}

}  // namespace
}  // namespace attnrun::testing
