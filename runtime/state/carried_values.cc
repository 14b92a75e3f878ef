// SPDX-License-Identifier: Apache-2.0
#include "state/carried_values.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "core/hash_map.h"
#include "state/name_match.h"
#include "state/trail.h"

namespace attnrun::state {
namespace {

bool IsTensor(const Value* value) { return value->type().kind == ValueKind::kTensor; }

// True if the output's tensors may be those of the input.
bool TypesFit(const Value* input, const Value* output) {
  const Type& in = input->type();
  const Type& out = output->type();
  if (!IsTensor(input) || !IsTensor(output) || input->constant() != nullptr) return false;
  const bool known = out.element != DataType::kUndefined;
  if (known && in.element != out.element) return false;
  return !in.shape.has_value() || !out.shape.has_value() || in.shape->size() == out.shape->size();
}

// The axis whose extents differ, as declared; -1 unless there is exactly one.
int DifferingAxis(const Value* input, const Value* output) {
  const auto& in = input->type().shape;
  const auto& out = output->type().shape;
  if (!in.has_value() || !out.has_value() || in->size() != out->size()) return -1;
  int found = -1;
  for (size_t axis = 1; axis < in->size(); ++axis) {
    const bool differs = !(*in)[axis].is_fixed() && !((*in)[axis] == (*out)[axis]);
    if (differs && found >= 0) return -1;
    if (differs) found = static_cast<int>(axis);
  }
  return found;
}

// The only axis behind the first whose extent is not fixed; -1 if there are none or several.
int OpenAxis(const Value* input) {
  const auto& shape = input->type().shape;
  int found = -1;
  for (size_t axis = 1; shape.has_value() && axis < shape->size(); ++axis) {
    if ((*shape)[axis].is_fixed()) continue;
    if (found >= 0) return -1;
    found = static_cast<int>(axis);
  }
  return found;
}

// True if the model declares that input and output have as many positions.
bool KeepsExtent(const Value* input, const Value* output, int axis) {
  const auto& in = input->type().shape;
  const auto& out = output->type().shape;
  if (axis < 0 || !in.has_value() || !out.has_value() || axis >= std::ssize(*out)) return false;
  const Dim& dim = (*in)[axis];
  return (dim.is_fixed() || !dim.symbol.empty()) && dim == (*out)[axis];
}

StateKind KindOf(const Trail& trail) {
  if (trail.overwrites) return StateKind::kWritten;
  if (!trail.appends || trail.is_part) return StateKind::kReplaced;
  return trail.cuts ? StateKind::kWindow : StateKind::kAppended;
}

// An output of the model.
struct Output {
  const Value* value;
  const std::string& name;
};

StateValue Carried(const Value* input, const Output& output, const Trail& trail) {
  StateKind kind = KindOf(trail);
  int axis = trail.axis;
  // The model names an axis that its input does not have: it will not run.
  const auto& shape = input->type().shape;
  if (shape.has_value() && axis >= std::ssize(*shape)) axis = -1;
  if (axis < 0 && kind != StateKind::kReplaced) axis = OpenAxis(input);
  if (kind == StateKind::kReplaced) axis = -1;
  // A cache that is as long after the run as before it has room for what is written to it.
  if (kind == StateKind::kAppended && trail.has_length && KeepsExtent(input, output.value, axis)) {
    kind = StateKind::kWritten;
  }
  const bool needs_axis = kind == StateKind::kAppended || kind == StateKind::kWindow;
  if (axis < 0 && needs_axis) kind = StateKind::kReplaced;
  return {input->name(), output.name, kind, axis, kind == StateKind::kWindow ? trail.window : 0};
}

// True if a branch of an If gives the output without reading anything, while another one computes
// it: what merged decoders do with the keys of an encoder, which the first run alone computes.
bool IsComputedOnce(const Value* output) {
  const Node* node = output->producer();
  if (node == nullptr || node->op_type() != "If") return false;
  int empty = 0;
  int computed = 0;
  for (const auto& [name, attribute] : node->attributes()) {
    const auto* graph = std::get_if<std::shared_ptr<Graph>>(&attribute);
    if (graph == nullptr) continue;
    const Value* value = (*graph)->outputs()[output->producer_index()];
    while (value->outer() != nullptr) value = value->outer();
    const bool reads =
        value->is_input() || (value->producer() != nullptr && !value->producer()->inputs().empty());
    ++(reads ? computed : empty);
  }
  return empty == 1 && computed == 1;
}

// Pairs outputs with inputs, each at most once.
class Pairing {
 public:
  Pairing(const Graph& graph, absl::Span<const std::string> names) : graph_(graph) {
    for (size_t i = 0; i < names.size(); ++i) outputs_.push_back({graph.outputs()[i], names[i]});
  }

  std::vector<StateValue> Find() {
    // Trails that change their input tell by themselves. Those that only pass it on need a name.
    for (const Output& output : outputs_) PairByTrail(output);
    for (const Output& output : outputs_) PairByName(output);
    absl::c_sort(pairs_, [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<StateValue> values;
    values.reserve(pairs_.size());
    for (auto& [position, value] : pairs_) values.push_back(std::move(value));
    return values;
  }

 private:
  void PairByTrail(const Output& output) {
    std::vector<Trail> fitting;
    for (const Trail& trail : TrailsOf(output.value)) {
      const bool changes = trail.appends || trail.overwrites;
      const bool fits = IsFree(trail.input) && TypesFit(trail.input, output.value);
      if (changes && fits) fitting.push_back(trail);
    }
    if (fitting.size() > 1) {
      std::erase_if(fitting, [&](const Trail& trail) {
        return !NamesMatch(trail.input->name(), output.name);
      });
    }
    if (fitting.size() != 1) return;
    const Trail& trail = fitting.front();
    Add(trail.input, output.value, Carried(trail.input, output, trail));
  }

  void PairByName(const Output& output) {
    if (paired_.contains(output.value)) return;
    std::vector<const Value*> fitting;
    for (const Value* input : graph_.inputs()) {
      if (!IsFree(input) || !TypesFit(input, output.value)) continue;
      if (NamesMatch(input->name(), output.name)) fitting.push_back(input);
    }
    if (fitting.size() != 1) return;
    const Value* input = fitting.front();
    const bool passed_on = absl::c_any_of(TrailsOf(output.value),
                                          [&](const Trail& trail) { return trail.input == input; });
    if (passed_on || IsComputedOnce(output.value)) {
      Add(input, output.value, {input->name(), output.name, StateKind::kKept});
      return;
    }
    const int axis = DifferingAxis(input, output.value);
    Add(input, output.value,
        {input->name(), output.name, axis >= 0 ? StateKind::kAppended : StateKind::kReplaced,
         axis});
  }

  bool IsFree(const Value* input) const { return !paired_.contains(input); }

  void Add(const Value* input, const Value* output, StateValue value) {
    paired_.insert({input, output});
    pairs_.emplace_back(absl::c_find(graph_.inputs(), input) - graph_.inputs().begin(),
                        std::move(value));
  }

  const Graph& graph_;
  std::vector<Output> outputs_;
  HashSet<const Value*> paired_;
  // With the position of the input.
  std::vector<std::pair<int64_t, StateValue>> pairs_;
};

}  // namespace

std::vector<StateValue> FindCarriedValues(const Graph& graph, absl::Span<const std::string> names) {
  return Pairing(graph, names).Find();
}

}  // namespace attnrun::state
