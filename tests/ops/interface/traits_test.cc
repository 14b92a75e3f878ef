// SPDX-License-Identifier: Apache-2.0
// The traits of operators, held against their reference code on all samples.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "core/elements.h"
#include "core/same_bits.h"
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

// The tensor with elements of 0, at all places or at those whose number is not even, or not odd.
Tensor Thinned(const Tensor& tensor, bool keeps_even, bool keeps_odd) {
  Tensor copy = Tensor::Allocate(tensor.type(), tensor.shape()).value();
  const size_t width = tensor.byte_size() / std::max<int64_t>(tensor.num_elements(), 1);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    auto* to = static_cast<uint8_t*>(copy.mutable_raw()) + i * width;
    const auto* from = static_cast<const uint8_t*>(tensor.raw()) + i * width;
    std::fill_n(to, width, 0);
    if (i % 2 == 0 ? keeps_even : keeps_odd) std::copy_n(from, width, to);
  }
  return copy;
}

Tensor Zeros(const Tensor& tensor) { return Thinned(tensor, false, false); }

// count - 1, ..., 1, 0.
Ints Downwards(int64_t count) {
  Ints numbers(count);
  std::iota(numbers.rbegin(), numbers.rend(), 0);
  return numbers;
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

TEST(TraitsTest, InputsOfCommutingOperatorsMayChangePlaces) {
  ForEachSampleWith(&ops::OpTraits::commutes, [](const SampleNode& sample, const SampleRun& run) {
    ASSERT_EQ(sample.inputs.size(), 2);
    run.ExpectOutputs({sample.inputs[1], sample.inputs[0]}, run.outputs());
  });
}

TEST(TraitsTest, InputsOfNearlyCommutingOperatorsMayChangePlaces) {
  ForEachSampleWith(&ops::OpTraits::nearly_commutes,
                    [](const SampleNode& sample, const SampleRun& run) {
                      if (sample.inputs.size() != 2) return;
                      const Tensor swapped = run.Run({sample.inputs[1], sample.inputs[0]})[0];
                      EXPECT_EQ(swapped.shape(), run.outputs()[0].shape());
                      EXPECT_EQ(ToDoubles(swapped).value(), ToDoubles(run.outputs()[0]).value());
                    });
}

TEST(TraitsTest, RescalingOperatorsKeepTheShape) {
  ForEachSampleWith(&ops::OpTraits::rescales, [](const SampleNode& sample, const SampleRun& run) {
    EXPECT_EQ(run.outputs()[0].shape(), sample.inputs[0].shape());
    EXPECT_NE(run.outputs()[0].type(), sample.inputs[0].type());
  });
}

// Other indices pick other elements, but as many.
TEST(TraitsTest, OperatorsThatReadIndicesTakeAnyIndices) {
  ForEachSampleWith(&ops::OpTraits::reads_indices,
                    [](const SampleNode& sample, const SampleRun& run) {
                      EXPECT_TRUE(TraitsOf(sample).moves_elements);
                      std::vector<Tensor> inputs = sample.inputs;
                      inputs[1] = Zeros(inputs[1]);
                      const std::vector<Tensor> outputs = run.Run(inputs);
                      EXPECT_EQ(outputs[0].shape(), run.outputs()[0].shape());
                      EXPECT_FALSE(SameBits(outputs[0], run.outputs()[0]));
                    });
}

TEST(TraitsTest, AssemblingOperatorsHaveNoElementsOfTheirOwn) {
  ForEachSampleWith(&ops::OpTraits::assembles, [](const SampleNode& sample, const SampleRun& run) {
    if (sample.attributes.contains("reduction")) return;
    std::set<double> elements = {0};
    for (const Tensor& input : sample.inputs) {
      if (!input.defined()) continue;
      const auto of_input = ToDoubles(input).value();
      elements.insert(of_input.begin(), of_input.end());
    }
    const auto outputs = ToDoubles(run.outputs()[0]).value();
    for (const double element : outputs) EXPECT_TRUE(elements.contains(element)) << element;
  });
}

// A sum of products is affine in each factor: what half of the elements of a factor add to the
// output, and what the others add, is what all of them add.
TEST(TraitsTest, ProductsAreAffineInTheirFactors) {
  ForEachSampleWith(&ops::OpTraits::multiplies, [](const SampleNode& sample, const SampleRun& run) {
    if (sample.attributes.contains("activation")) return;
    for (size_t factor = 0; factor < std::min<size_t>(sample.inputs.size(), 2); ++factor) {
      const auto with = [&](bool even, bool odd) {
        std::vector<Tensor> inputs = sample.inputs;
        inputs[factor] = Thinned(inputs[factor], even, odd);
        return ToDoubles(run.Run(inputs)[0]).value();
      };
      const auto all = with(true, true);
      const auto even = with(true, false);
      const auto odd = with(false, true);
      const auto none = with(false, false);
      EXPECT_NE(all, none) << "factor " << factor;
      // No sample adds up more than 32 products, of numbers below 2^15.
      double greatest = 1;
      for (const double element : all) greatest = std::max(greatest, std::abs(element));
      for (size_t i = 0; i < all.size(); ++i) {
        EXPECT_NEAR(even[i] + odd[i], all[i] + none[i], 64 * kEpsilon * greatest);
      }
    }
  });
}

// Reversed rows have the same sum, but for rounding.
TEST(TraitsTest, ReductionsDoNotLookAtTheOrder) {
  ForEachSampleWith(&ops::OpTraits::reduces, [](const SampleNode& sample, const SampleRun& run) {
    const ops::AxisRule rule = RulesOf(sample)[0];
    for (int axis = 0; axis < sample.inputs[0].rank(); ++axis) {
      if (rule.OfInput(0, axis) != nullptr) continue;
      std::vector<Tensor> inputs = sample.inputs;
      inputs[0] = GatheredAlong(inputs[0], axis, Downwards(inputs[0].dim(axis)));
      ExpectClose(run.Run(inputs)[0], run.outputs()[0], 64 * kEpsilon);
    }
  });
}

TEST(TraitsTest, OperatorsOnRowsKeepShapeAndRows) {
  ForEachSampleWith(&ops::OpTraits::works_on_rows,
                    [](const SampleNode& sample, const SampleRun& run) {
                      EXPECT_EQ(run.outputs()[0].shape(), sample.inputs[0].shape());
                      const ops::AxisRule rule = RulesOf(sample)[0];
                      const ops::AxisTrack* track = rule.OfInput(0, 0);
                      ASSERT_NE(track, nullptr);
                      EXPECT_EQ(track->outputs[0], 0);
                    });
}

// The number of leading axes of input 0 that are the same axes of output 0 and of no other input.
int OwnAxes(const SampleNode& sample) {
  const ops::AxisRule rule = RulesOf(sample)[0];
  const auto is_none = [](int axis) { return axis == ops::AxisTrack::kNone; };
  for (int axis = 0;; ++axis) {
    const ops::AxisTrack* track = rule.OfInput(0, axis);
    if (track == nullptr || track->outputs[0] != axis ||
        !std::all_of(track->inputs.begin() + 1, track->inputs.end(), is_none) ||
        !std::all_of(track->ones.begin(), track->ones.end(), is_none)) {
      return axis;
    }
  }
}

// The first `axes` axes as one, and that one split into 1 and itself.
std::vector<Shape> WithOtherLeadingAxes(absl::Span<const int64_t> shape, int axes) {
  Shape joined = {1};
  for (int axis = 0; axis < axes; ++axis) joined[0] *= shape[axis];
  joined.insert(joined.end(), shape.begin() + axes, shape.end());
  Shape split = joined;
  split.insert(split.begin(), 1);
  return {joined, split};
}

TEST(TraitsTest, OperatorsOfAnyRankTakeLeadingAxesJoinedOrSplit) {
  ForEachSampleWith(&ops::OpTraits::takes_any_rank, [](const SampleNode& sample,
                                                       const SampleRun& run) {
    const int own = OwnAxes(sample);
    const Tensor& x = sample.inputs[0];
    if (own == 0) return;
    const auto of_x = WithOtherLeadingAxes(x.shape(), own);
    for (size_t i = 0; i < of_x.size(); ++i) {
      SampleNode other = sample;
      other.inputs[0] = x.Reshaped(of_x[i]).value();
      if (other.attributes.contains("axis")) {
        AttributeValue& axis = other.attributes["axis"];
        axis = std::get<int64_t>(axis) - x.rank();
      }
      std::vector<Tensor> expected;
      for (const Tensor& output : run.outputs()) {
        expected.push_back(output.Reshaped(WithOtherLeadingAxes(output.shape(), own)[i]).value());
      }
      SampleRun(other).ExpectOutputs(other.inputs, expected);
    }
  });
}

TEST(TraitsTest, BoundedOperatorsHaveNumbersFromMinusOneToOne) {
  ForEachSampleWith(&ops::OpTraits::bounded, [](const SampleNode& sample, const SampleRun& run) {
    if (!IsFloatingPoint(run.outputs()[0].type())) return;
    const Tensor& x = sample.inputs[0];
    auto large = ToDoubles(x).value();
    for (double& element : large) element *= 1000;
    const Tensor enlarged = FromDoubles(x.type(), x.shape(), large).value();
    for (const Tensor& input : {x, enlarged}) {
      const auto elements = ToDoubles(run.Run({input})[0]).value();
      for (const double element : elements) EXPECT_LE(std::abs(element), 1);
    }
  });
}

// Random operators tell nodes apart by their names, and by the seed, which stands for the name.
TEST(TraitsTest, OnlyRandomOperatorsDrawNumbers) {
  for (const SampleNode& sample : AllSamples()) {
    SCOPED_TRACE(sample.op_type);
    SampleNode seeded = sample;
    seeded.attributes["seed"] = 3.0F;
    const bool takes_a_seed = TesterOf(seeded).Reference().ok();
    EXPECT_EQ(takes_a_seed && sample.op_type != "Dropout", TraitsOf(sample).random);
  }
}

TEST(TraitsTest, VersionsThatMeanTheSameComputeTheSame) {
  for (const SampleNode& sample : AllSamples()) {
    const int first = TraitsOf(sample).same_since;
    if (first == 0 || sample.opset < first) continue;
    SCOPED_TRACE(sample.op_type);
    const SampleRun run(sample);
    for (const int version : ops::OpRegistry::Get().Find("", sample.op_type)->since) {
      SampleNode other = sample;
      other.opset = version;
      // An old version may lack an attribute or a type.
      if (version < first || !TesterOf(other).Reference().ok()) continue;
      SampleRun(other).ExpectOutputs(sample.inputs, run.outputs());
    }
  }
}

// Each trait is of some use to some operator, and none is left unchecked for want of a sample.
TEST(TraitsTest, EveryOperatorWithATraitHasASample) {
  std::vector<std::string> sampled;
  for (const SampleNode& sample : AllSamples()) sampled.push_back(sample.op_type);
  for (const ops::OpDef* def : ops::OpRegistry::Get().All()) {
    const ops::OpTraits& t = def->traits;
    const bool has_any = t.elementwise || t.rescales || t.moves_elements || t.assembles ||
                         t.multiplies || t.reduces || t.works_on_rows || t.takes_any_rank ||
                         t.bounded || t.random || t.same_since > 0;
    if (!has_any) continue;
    const std::string name = def->domain.empty() ? def->name : def->domain + "::" + def->name;
    EXPECT_TRUE(std::find(sampled.begin(), sampled.end(), name) != sampled.end()) << name;
  }
}

}  // namespace
}  // namespace attnrun::testing
