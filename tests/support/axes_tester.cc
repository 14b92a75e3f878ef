// SPDX-License-Identifier: Apache-2.0
#include "support/axes_tester.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_join.h"
#include "core/elements.h"
#include "core/same_bits.h"
#include "ops/interface/registry.h"
#include "support/knowledge.h"

namespace attnrun::testing {
namespace {

constexpr int kNone = ops::AxisTrack::kNone;

// Lists of positions of an axis: in another order, drawn with repetition, and all the same.
std::vector<Ints> ChoicesOf(int64_t extent, std::mt19937& generator) {
  Ints permuted(extent);
  std::iota(permuted.begin(), permuted.end(), 0);
  std::shuffle(permuted.begin(), permuted.end(), generator);
  std::uniform_int_distribution<int64_t> position(0, extent - 1);
  Ints drawn(extent);
  for (int64_t& p : drawn) p = position(generator);
  return {permuted, drawn, Ints(extent, position(generator))};
}

}  // namespace

Tensor GatheredAlong(const Tensor& tensor, int axis, const Ints& positions) {
  OpTester gather("Gather");
  gather.Attribute("axis", int64_t{axis}).Input(tensor).Input(I(positions));
  return gather.Reference().value()[0];
}

ops::AxisRule RuleOf(const InferNode& node, const std::vector<Tensor>& constants) {
  const std::vector<ops::ValueFacts> outputs = InferOutputs(node, constants);
  std::vector<const ops::ValueFacts*> known_outputs;
  for (const ops::ValueFacts& output : outputs) known_outputs.push_back(&output);
  const KnownNodeInputs known(node, constants);
  ops::AxisRule rule;
  ops::AxesContext context(known.facts, known.tensors, known_outputs, rule);
  Graph graph;
  ops::OpRegistry::Get().AddAxes(*AddTo(graph, node), context);
  return rule;
}

std::string Text(const ops::AxisRule& rule) {
  return absl::StrJoin(rule.tracks, "; ", [](std::string* out, const ops::AxisTrack& track) {
    *out += track.ToString();
  });
}

void ExpectTracks(const std::vector<AxesRow>& rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE("row " + std::to_string(i) + ", " + rows[i].node.op_type);
    EXPECT_EQ(Text(RuleOf(rows[i].node)), rows[i].tracks);
  }
}

std::vector<ops::AxisRule> RulesOf(const SampleNode& sample) {
  std::vector<ops::AxisRule> rules;
  std::set<std::string> texts;
  const auto add = [&](ops::AxisRule rule) {
    if (texts.insert(Text(rule)).second) rules.push_back(std::move(rule));
  };
  add(RuleOf(KnownNode(sample, Knowledge::kNumbers, Knowledge::kNumbers), sample.inputs));
  for (const Knowledge of_dims : kKnowledge) {
    for (const Knowledge of_contents : kKnowledge) {
      add(RuleOf(KnownNode(sample, of_dims, of_contents)));
    }
    for (size_t i = 0; i < sample.inputs.size(); ++i) {
      for (const Knowledge of_input : kKnowledge) {
        add(RuleOf(KnownNode(sample, of_dims, i, of_input)));
      }
    }
  }
  return rules;
}

SampleRun::SampleRun(const SampleNode& sample) : sample_(sample), outputs_(Run(sample.inputs)) {}

std::vector<Tensor> SampleRun::Run(const std::vector<Tensor>& inputs) const {
  SampleNode sample = sample_;
  sample.inputs = inputs;
  auto outputs = TesterOf(sample).Reference();
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  if (!outputs.ok()) return {};
  for (Tensor& output : *outputs) output = output.Dense().value();
  return *std::move(outputs);
}

int64_t SampleRun::ExtentOf(const ops::AxisTrack& track) const {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (track.outputs[i] != kNone) return outputs_[i].dim(track.outputs[i]);
  }
  return 0;
}

void SampleRun::ExpectWellFormed(const ops::AxisRule& rule) const {
  std::set<std::pair<size_t, int>> of_inputs;
  std::set<std::pair<size_t, int>> of_outputs;
  std::vector<ops::AxisTrack> tracks = rule.tracks;
  tracks.insert(tracks.end(), rule.placed.begin(), rule.placed.end());
  for (const ops::AxisTrack& track : tracks) {
    SCOPED_TRACE(track.ToString());
    const int64_t extent = ExtentOf(track);
    ASSERT_EQ(track.inputs.size(), sample_.inputs.size());
    ASSERT_EQ(track.outputs.size(), outputs_.size());
    for (size_t i = 0; i < sample_.inputs.size(); ++i) {
      EXPECT_TRUE(track.inputs[i] == kNone || track.ones[i] == kNone);
      for (const int axis : {track.inputs[i], track.ones[i]}) {
        if (axis == kNone) continue;
        EXPECT_TRUE(of_inputs.emplace(i, axis).second) << "axis " << axis << " of input " << i;
        ASSERT_LT(axis, sample_.inputs[i].rank());
        EXPECT_EQ(sample_.inputs[i].dim(axis), axis == track.ones[i] ? 1 : extent);
      }
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (track.outputs[i] == kNone) continue;
      EXPECT_TRUE(of_outputs.emplace(i, track.outputs[i]).second) << "of output " << i;
      EXPECT_EQ(outputs_[i].dim(track.outputs[i]), extent);
    }
  }
}

void SampleRun::ExpectHolds(const ops::AxisTrack& track, std::mt19937& generator) const {
  const int64_t extent = ExtentOf(track);
  if (extent < 2) return;
  for (const Ints& positions : ChoicesOf(extent, generator)) ExpectCommutes(track, positions);
  ExpectBroadcasts(track);
}

void SampleRun::ExpectApart(const ops::AxisTrack& track, std::mt19937& generator) const {
  const int64_t extent = ExtentOf(track);
  for (int64_t kept = 0; kept < extent; ++kept) {
    Ints positions = ChoicesOf(extent, generator).front();
    positions[kept] = kept;
    const std::vector<Tensor> results = Run(InputsAt(track, positions));
    for (size_t i = 0; i < results.size(); ++i) {
      if (track.outputs[i] == kNone) continue;
      const int axis = track.outputs[i];
      EXPECT_TRUE(SameBits(GatheredAlong(results[i], axis, {kept}),
                           GatheredAlong(outputs_[i], axis, {kept})))
          << "output " << i << " at " << kept;
    }
  }
}

std::vector<Tensor> SampleRun::InputsAt(const ops::AxisTrack& track, const Ints& positions) const {
  std::vector<Tensor> inputs = sample_.inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (track.inputs[i] == kNone) continue;
    inputs[i] = GatheredAlong(inputs[i], track.inputs[i], positions);
  }
  return inputs;
}

void SampleRun::ExpectCommutes(const ops::AxisTrack& track, const Ints& positions) const {
  SCOPED_TRACE("positions " + absl::StrJoin(positions, ","));
  const std::vector<Tensor> inputs = InputsAt(track, positions);
  std::vector<Tensor> expected = outputs_;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (track.outputs[i] == kNone) continue;
    expected[i] = GatheredAlong(expected[i], track.outputs[i], positions);
  }
  ExpectOutputs(inputs, expected);
}

void SampleRun::ExpectBroadcasts(const ops::AxisTrack& track) const {
  SCOPED_TRACE("axes of extent 1 repeated");
  std::vector<Tensor> inputs = sample_.inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (track.ones[i] == kNone) continue;
    inputs[i] = GatheredAlong(inputs[i], track.ones[i], Ints(ExtentOf(track), 0));
  }
  ExpectOutputs(inputs, outputs_);
}

void SampleRun::ExpectOutputs(const std::vector<Tensor>& inputs,
                              const std::vector<Tensor>& expected) const {
  const std::vector<Tensor> results = Run(inputs);
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_TRUE(SameBits(results[i], expected[i]))
        << "output " << i << ", " << TypeAndShape(results[i]) << " for "
        << TypeAndShape(expected[i]);
  }
}

}  // namespace attnrun::testing
