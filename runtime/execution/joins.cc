// SPDX-License-Identifier: Apache-2.0
#include "execution/joins.h"

#include <optional>

#include "absl/algorithm/container.h"
#include "core/hash_map.h"
#include "optimizer/analysis/axes.h"
#include "optimizer/analysis/facts.h"

namespace attnrun::exec {
namespace {

class JoinFinder {
 public:
  explicit JoinFinder(const Graph& graph) : facts_(graph) {
    for (const Value* input : graph.inputs()) dependent_.insert(input);
  }

  Join Find(const Node& node) {
    if (!Depends(node)) return {JoinKind::kShared};
    for (const Value* output : node.outputs()) dependent_.insert(output);
    return Joined(node).value_or(Join());
  }

 private:
  bool Depends(const Node& node) const {
    const auto depends = [&](const Value* value) { return dependent_.contains(value); };
    return absl::c_any_of(node.inputs(), depends) ||
           absl::c_any_of(node.implicit_inputs(), depends);
  }

  std::optional<Join> Joined(const Node& node) {
    if (!node.implicit_inputs().empty()) return std::nullopt;
    const ops::AxisRule rule = opt::AxesOf(node, facts_);
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      if (!dependent_.contains(node.input(i))) continue;
      const int axis = AxisOf(node.input(i));
      const ops::AxisTrack* track = axis < 0 ? nullptr : rule.OfInput(static_cast<int>(i), axis);
      // All inputs that depend on the request must have the positions, so one of them decides.
      if (track == nullptr || !CanJoin(node, *track)) return std::nullopt;
      return Along(node, *track);
    }
    return std::nullopt;
  }

  bool CanJoin(const Node& node, const ops::AxisTrack& track) {
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      if (node.input(i) == nullptr) continue;
      const bool has_axis = track.inputs[i] != ops::AxisTrack::kNone;
      const bool depends = dependent_.contains(node.input(i));
      if (has_axis != depends) return false;
      if (depends && track.inputs[i] != AxisOf(node.input(i))) return false;
    }
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      if (node.output(i) != nullptr && track.outputs[i] == ops::AxisTrack::kNone) return false;
    }
    return opt::FollowsInputs(node, track, facts_);
  }

  Join Along(const Node& node, const ops::AxisTrack& track) {
    Join join{JoinKind::kJoined};
    join.input_axes.assign(track.inputs.begin(), track.inputs.end());
    join.output_axes.assign(track.outputs.begin(), track.outputs.end());
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      if (node.output(i) != nullptr) axes_[node.output(i)] = track.outputs[i];
    }
    return join;
  }

  // The axis along which the values of several requests lie one behind the other: of a joined step,
  // the one that its track says; else the first whose extent is not fixed, the batch last. -1 if
  // there is none.
  int AxisOf(const Value* value) {
    const auto known = axes_.find(value);
    if (known != axes_.end()) return known->second;
    const std::vector<SymInt>* dims = facts_.DimsOf(value);
    int found = -1;
    for (size_t axis = dims == nullptr ? 0 : dims->size(); axis-- > 0;) {
      const bool is_open = !(*dims)[axis].constant().has_value();
      if (is_open && (axis > 0 || found < 0)) found = static_cast<int>(axis);
    }
    axes_[value] = found;
    return found;
  }

  opt::Facts facts_;
  // The values that depend on an input of the graph.
  HashSet<const Value*> dependent_;
  HashMap<const Value*, int> axes_;
};

}  // namespace

std::vector<Join> FindJoins(const Plan& plan) {
  JoinFinder finder(plan.graph());
  std::vector<Join> joins;
  for (const Step& step : plan.steps()) joins.push_back(finder.Find(*step.node));
  return joins;
}

}  // namespace attnrun::exec
