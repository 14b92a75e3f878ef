// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SUPPORT_AXES_TESTER_H_
#define ATTNRUN_TESTS_SUPPORT_AXES_TESTER_H_

#include <random>
#include <string>
#include <vector>

#include "ops/interface/axes.h"
#include "support/infer_tester.h"
#include "support/sample_nodes.h"

namespace attnrun::testing {

// The axis rule of a node. `constants` as for InferOutputs.
ops::AxisRule RuleOf(const InferNode& node, const std::vector<Tensor>& constants = {});

// The tracks, one AxisTrack::ToString after the other: "0.0 1.0 > 0.0; 0.1 > 0.1".
std::string Text(const ops::AxisRule& rule);

// A node and the Text of its rule.
struct AxesRow {
  InferNode node;
  std::string tracks;
};
void ExpectTracks(const std::vector<AxesRow>& rows);

// Rules of a sample, with its inputs known in full, as symbols or not at all, together and each in
// another way than the rest. Equal rules once.
std::vector<ops::AxisRule> RulesOf(const SampleNode& sample);

// One run of a sample, on which what its operator says of axes is checked.
class SampleRun {
 public:
  // Expects the run to succeed.
  explicit SampleRun(const SampleNode& sample);

  const std::vector<Tensor>& outputs() const { return outputs_; }
  // The extent that the axes of a track have in this run.
  int64_t ExtentOf(const ops::AxisTrack& track) const;

  // Expects that no axis is in two tracks, and that the extents along a track are equal.
  void ExpectWellFormed(const ops::AxisRule& rule) const;
  // Expects that the operator commutes with choices of positions along the track, and that inputs
  // of extent 1 are broadcast along it.
  void ExpectHolds(const ops::AxisTrack& track, std::mt19937& generator) const;
  // Expects that outputs at a position along the track stay if inputs at others change.
  void ExpectApart(const ops::AxisTrack& track, std::mt19937& generator) const;
  // Expects these outputs, bit for bit, of these inputs.
  void ExpectOutputs(const std::vector<Tensor>& inputs, const std::vector<Tensor>& expected) const;
  // The outputs of these inputs; empty, after a failure, if there are none.
  std::vector<Tensor> Run(const std::vector<Tensor>& inputs) const;

 private:
  void ExpectCommutes(const ops::AxisTrack& track, const Ints& positions) const;
  // The inputs, of which those with an axis in the track have these positions.
  std::vector<Tensor> InputsAt(const ops::AxisTrack& track, const Ints& positions) const;
  void ExpectBroadcasts(const ops::AxisTrack& track) const;

  const SampleNode& sample_;
  std::vector<Tensor> outputs_;
};

// The slices of a tensor at these positions of an axis, one after the other.
Tensor GatheredAlong(const Tensor& tensor, int axis, const Ints& positions);

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SUPPORT_AXES_TESTER_H_
