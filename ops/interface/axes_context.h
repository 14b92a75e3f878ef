// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_INTERFACE_AXES_CONTEXT_H_
#define ATTNRUN_OPS_INTERFACE_AXES_CONTEXT_H_

#include <initializer_list>

#include "absl/types/span.h"
#include "ops/interface/axes.h"
#include "ops/interface/infer_context.h"

namespace attnrun::ops {

// The facts about an operator's inputs and outputs, for all runs, and the rule that collects the
// tracks of their axes.
class AxesContext : public KnownInputs {
 public:
  // Inputs and constants as in KnownInputs; a null output is left out. `rule` begins empty.
  AxesContext(absl::Span<const ValueFacts* const> inputs, absl::Span<const Tensor* const> constants,
              absl::Span<const ValueFacts* const> outputs, AxisRule& rule)
      : KnownInputs(inputs, constants), outputs_(outputs), rule_(rule) {}

  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  bool has_output(int i) const { return i < num_outputs() && outputs_[i] != nullptr; }
  // Precondition: has_output(i).
  const ValueFacts& output(int i) const { return *outputs_[i]; }

  // Axis `axis` of input or output `place`.
  struct Slot {
    int place;
    size_t axis;
  };
  // The track of these axes. Inputs and outputs that the node does not have or leaves out are
  // skipped, so that optional ones need no care; so is place -1.
  AxisTrack Track(std::initializer_list<Slot> inputs, std::initializer_list<Slot> outputs) const;

  // Adds a track to the rule, unless it has no input or no output, or its extents are known to
  // differ: no run succeeds then.
  void Add(AxisTrack track);
  void Add(std::initializer_list<Slot> inputs, std::initializer_list<Slot> outputs) {
    Add(Track(inputs, outputs));
  }
  // As Add, for a track along which positions count (AxisRule::placed).
  void AddPlaced(AxisTrack track);

 private:
  bool MayHold(const AxisTrack& track) const;

  absl::Span<const ValueFacts* const> outputs_;
  AxisRule& rule_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_INTERFACE_AXES_CONTEXT_H_
