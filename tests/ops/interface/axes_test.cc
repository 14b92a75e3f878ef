// SPDX-License-Identifier: Apache-2.0
// The axis rule of every operator, held against its reference code. A track says that the operator
// commutes with any choice of positions along it, so the test chooses some, in another order and
// repeated, and compares bit for bit: no reference code adds numbers of different positions up, so
// that no order of rounding depends on them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "ops/interface/registry.h"
#include "support/axes_tester.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

TEST(AxesTest, TracksOfEveryOperatorHold) {
  const uint32_t seed = Seed();
  std::mt19937 generator(seed);
  for (const SampleNode& sample : AllSamples()) {
    const SampleRun run(sample);
    for (const ops::AxisRule& rule : RulesOf(sample)) {
      SCOPED_TRACE(sample.op_type + ", " + Text(rule) + ", seed " + std::to_string(seed));
      run.ExpectWellFormed(rule);
      if (HasFailure()) return;
      for (const ops::AxisTrack& track : rule.tracks) {
        SCOPED_TRACE(track.ToString());
        run.ExpectHolds(track, generator);
        if (HasFailure()) return;
      }
      for (const ops::AxisTrack& track : rule.placed) {
        SCOPED_TRACE("placed " + track.ToString());
        run.ExpectApart(track, generator);
        if (HasFailure()) return;
      }
    }
  }
}

constexpr char kNoInputs[] = "has no input axes, or reads nothing but their extents";
constexpr char kByPlace[] = "elements depend on their place";
constexpr char kByValue[] = "extents depend on the elements";
constexpr char kMixed[] = "every element of the outputs depends on all positions";
constexpr char kBody[] = "does what its body does";
constexpr char kSequences[] =
    "takes or gives a sequence or an optional, whose tensors have the axes";
constexpr char kExpanded[] = "the optimizer writes it in other operators before it asks for axes";

// The operators without any track, and why. An operator that is in neither this list nor AllSamples
// has an author who has not decided yet.
const std::map<std::string, std::string>& WithoutTracks() {
  static const auto* const reasons = new std::map<std::string, std::string>{
      {"Bernoulli", kByPlace},
      {"BlackmanWindow", kNoInputs},
      {"Constant", kNoInputs},
      {"ConcatFromSequence", kSequences},
      {"ConstantOfShape", kNoInputs},
      {"DynamicQuantizeLinear", kMixed},
      {"EyeLike", kNoInputs},
      {"HammingWindow", kNoInputs},
      {"HannWindow", kNoInputs},
      {"If", kBody},
      {"Loop", kBody},
      {"MaxUnpool", kByPlace},
      {"MelWeightMatrix", kNoInputs},
      {"Multinomial", kByPlace},
      {"NonMaxSuppression", kByValue},
      {"NonZero", kByValue},
      {"Optional", kSequences},
      {"OptionalGetElement", kSequences},
      {"OptionalHasElement", kSequences},
      {"QLinearConv", kExpanded},
      {"QLinearMatMul", kExpanded},
      {"RandomNormal", kNoInputs},
      {"RandomNormalLike", kNoInputs},
      {"RandomUniform", kNoInputs},
      {"RandomUniformLike", kNoInputs},
      {"Range", kNoInputs},
      {"Scan", kBody},
      {"SequenceAt", kSequences},
      {"SequenceConstruct", kSequences},
      {"SequenceEmpty", kSequences},
      {"SequenceErase", kSequences},
      {"SequenceInsert", kSequences},
      {"SequenceLength", kSequences},
      {"SequenceMap", kBody},
      {"Shape", kNoInputs},
      {"Size", kNoInputs},
      {"SplitToSequence", kSequences},
      {"StringNormalizer", kByValue},
      {"StringSplit", kByValue},
      {"Unique", kByValue},
      {"ai.onnx.preview::FlexAttention", kBody},
      {"com.microsoft::Attention", kExpanded},
      {"com.microsoft::BiasSplitGelu", kExpanded},
      {"com.microsoft::DequantizeLinear", kExpanded},
      {"attnrun::DequantizeBnb4", kByPlace},
      {"com.microsoft::DynamicQuantizeLSTM", kMixed},
      {"com.microsoft::DynamicQuantizeMatMul", kExpanded},
      {"com.microsoft::EmbedLayerNormalization", kExpanded},
      {"com.microsoft::FusedConv", kExpanded},
      {"com.microsoft::FusedGemm", kExpanded},
      {"com.microsoft::FusedMatMul", kExpanded},
      {"com.microsoft::GatedRMSNorm", kExpanded},
      {"com.microsoft::GroupNorm", kExpanded},
      {"com.microsoft::GroupQueryAttention", kExpanded},
      {"com.microsoft::LinearAttentionGate", kExpanded},
      {"com.microsoft::MRotaryEmbedding", kExpanded},
      {"com.microsoft::MatMulBnb4", kExpanded},
      {"com.microsoft::MatMulIntegerToFloat", kExpanded},
      {"com.microsoft::MultiHeadAttention", kExpanded},
      {"com.microsoft::NhwcConv", kExpanded},
      {"com.microsoft::QAttention", kExpanded},
      {"com.microsoft::QEmbedLayerNormalization", kExpanded},
      {"com.microsoft::QGemm", kExpanded},
      {"com.microsoft::QLinearAdd", kExpanded},
      {"com.microsoft::QLinearAveragePool", kExpanded},
      {"com.microsoft::QLinearConcat", kExpanded},
      {"com.microsoft::QLinearConv", kExpanded},
      {"com.microsoft::QLinearGlobalAveragePool", kExpanded},
      {"com.microsoft::QLinearLeakyRelu", kExpanded},
      {"com.microsoft::QLinearMul", kExpanded},
      {"com.microsoft::QLinearSigmoid", kExpanded},
      {"com.microsoft::QLinearSoftmax", kExpanded},
      {"com.microsoft::QLinearWhere", kExpanded},
      {"com.microsoft::QuantizeLinear", kExpanded},
      {"com.microsoft::Range", kExpanded},
      {"com.microsoft::RotaryEmbedding", kExpanded},
      {"com.microsoft::SkipLayerNormalization", kExpanded},
      {"com.microsoft::SkipSimplifiedLayerNormalization", kExpanded},
      {"com.microsoft::SparseAttention", kExpanded},
      {"com.microsoft::TransposeMatMul", kExpanded},
  };
  return *reasons;
}

// The operators with a track that a sample has two positions of, which TracksOfEveryOperatorHold
// then checks.
std::set<std::string> OperatorsWithTracks() {
  std::set<std::string> operators;
  for (const SampleNode& sample : AllSamples()) {
    const SampleRun run(sample);
    for (const ops::AxisRule& rule : RulesOf(sample)) {
      for (const ops::AxisTrack& track : rule.tracks) {
        if (run.ExtentOf(track) > 1) operators.insert(sample.op_type);
      }
    }
  }
  return operators;
}

TEST(AxesTest, EveryOperatorHasTracksOrAReasonForNone) {
  const std::set<std::string> with_tracks = OperatorsWithTracks();
  std::set<std::string> all;
  for (const ops::OpDef* def : ops::OpRegistry::Get().All()) {
    const std::string name = def->domain.empty() ? def->name : def->domain + "::" + def->name;
    all.insert(name);
    EXPECT_NE(with_tracks.contains(name), WithoutTracks().contains(name))
        << name << ": expected either a sample in tests/support/samples_*.cc on which its rule has "
        << "a track, or a reason in WithoutTracks";
  }
  for (const auto& [name, reason] : WithoutTracks()) {
    EXPECT_TRUE(all.contains(name)) << name << " is no operator";
  }
}

}  // namespace
}  // namespace attnrun::testing
