// SPDX-License-Identifier: Apache-2.0
#include "fuzz/shrink.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "fuzz/closeness.h"

namespace attnrun::testing {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(60);

class Shrinker {
 public:
  Shrinker(Trial trial, const Failure& failure)
      : trial_(std::move(trial)), kind_(failure.kind), deadline_(absl::Now() + kPatience) {}

  Trial Run() {
    while (Round()) {
    }
    TryEach(trial_.bindings.size(), [](Trial& t, size_t i) {
      if (t.bindings.size() == 1) return false;
      t.bindings.erase(t.bindings.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    });
    return trial_;
  }

 private:
  // Tries `step` at each of the `places`. A step changes a trial at place i, or returns false if
  // there is nothing to change there.
  template <typename Step>
  bool TryEach(size_t places, Step step) {
    bool any = false;
    for (size_t i = places; i-- > 0;) {
      Trial smaller = trial_;
      if (absl::Now() > deadline_ || !step(smaller, i)) continue;
      Prune(smaller.draft);
      const std::optional<Failure> failure = Check(smaller);
      if (!failure.has_value() || failure->kind != kind_) continue;
      trial_ = std::move(smaller);
      any = true;
    }
    return any;
  }

  bool Round() {
    bool any = TryEach(trial_.draft.outputs.size(), DropOutput);
    any |= TryEach(trial_.draft.nodes.size(), CutAt);
    Learn();
    any |= TryEach(trial_.draft.nodes.size(), [&](Trial& t, size_t i) { return Feed(t, i); });
    any |= TryEach(trial_.draft.nodes.size(), [&](Trial& t, size_t i) { return Bypass(t, i); });
    return any;
  }

  static bool DropOutput(Trial& trial, size_t i) {
    if (trial.draft.outputs.size() < 2 || i >= trial.draft.outputs.size()) return false;
    trial.draft.outputs.erase(trial.draft.outputs.begin() + static_cast<std::ptrdiff_t>(i));
    return true;
  }

  // Makes the outputs of node i the only graph outputs.
  static bool CutAt(Trial& trial, size_t i) {
    if (i + 1 >= trial.draft.nodes.size()) return false;
    trial.draft.outputs.clear();
    for (const std::string& name : trial.draft.nodes[i].outputs) {
      if (!name.empty()) trial.draft.outputs.push_back(name);
    }
    return true;
  }

  // Computes all values under each binding, and which symbol stands for which extents.
  void Learn() {
    values_.clear();
    symbols_.clear();
    const auto graph = Build(trial_.draft);
    for (const TensorMap& binding : trial_.bindings) {
      values_.push_back(Expectation(**graph, binding).values());
    }
    for (const auto& [name, type] : trial_.draft.inputs) {
      for (size_t axis = 0; type.shape.has_value() && axis < type.shape->size(); ++axis) {
        const std::string& symbol = (*type.shape)[axis].symbol;
        if (!symbol.empty()) symbols_[Extents(name, static_cast<int>(axis))] = symbol;
      }
    }
  }

  // Precondition: the value is known and has one rank under all bindings.
  std::vector<int64_t> Extents(const std::string& name, int axis) const {
    std::vector<int64_t> extents;
    for (const TensorMap& values : values_) {
      const auto found = values.find(name);
      extents.push_back(found == values.end() ? -1 : found->second.dim(axis));
    }
    return extents;
  }

  // A number if all bindings agree on it, else a symbol for these extents.
  Dim DimOf(const std::vector<int64_t>& extents) const {
    const auto known = symbols_.find(extents);
    if (known != symbols_.end()) return {-1, known->second};
    const bool fixed = std::ranges::count(extents, extents[0]) == std::ssize(extents);
    return fixed ? Dim{extents[0], ""} : Dim{-1, absl::StrCat("n", absl::StrJoin(extents, "_"))};
  }

  // Turns the value into a graph input.
  bool FeedValue(Trial& trial, const std::string& name) const {
    for (size_t b = 0; b < values_.size(); ++b) {
      const auto found = values_[b].find(name);
      if (found == values_[b].end()) return false;
      if (found->second.rank() != values_[0].at(name).rank()) return false;
      trial.bindings[b][name] = found->second;
    }
    const Tensor& tensor = values_[0].at(name);
    Type type;
    type.element = tensor.type();
    type.shape.emplace();
    for (int axis = 0; axis < tensor.rank(); ++axis) {
      type.shape->push_back(DimOf(Extents(name, axis)));
    }
    trial.draft.inputs[name] = type;
    return true;
  }

  bool Feed(Trial& trial, size_t i) const {
    if (i >= trial.draft.nodes.size()) return false;
    for (const std::string& name : trial.draft.nodes[i].outputs) {
      if (name.empty() || std::ranges::count(trial.draft.outputs, name) > 0) return false;
      if (!FeedValue(trial, name)) return false;
    }
    trial.draft.nodes.erase(trial.draft.nodes.begin() + static_cast<std::ptrdiff_t>(i));
    return true;
  }

  bool Alike(const std::string& a, const std::string& b) const {
    return std::ranges::all_of(values_, [&](const TensorMap& values) {
      return values.contains(a) && values.contains(b) &&
             TypeAndShape(values.at(a)) == TypeAndShape(values.at(b));
    });
  }

  // The readers of node i read one of its inputs instead, if type and shape agree.
  bool Bypass(Trial& trial, size_t i) const {
    if (i >= trial.draft.nodes.size() || trial.draft.nodes[i].outputs.size() != 1) return false;
    const DraftNode node = trial.draft.nodes[i];
    const auto input = std::ranges::find_if(node.inputs, [&](const std::string& name) {
      return !name.empty() && Alike(name, node.outputs[0]);
    });
    if (input == node.inputs.end()) return false;
    for (DraftNode& reader : trial.draft.nodes) {
      std::ranges::replace(reader.inputs, node.outputs[0], *input);
    }
    std::ranges::replace(trial.draft.outputs, node.outputs[0], *input);
    trial.draft.nodes.erase(trial.draft.nodes.begin() + static_cast<std::ptrdiff_t>(i));
    return true;
  }

  Trial trial_;
  const std::string kind_;
  const absl::Time deadline_;
  std::vector<TensorMap> values_;
  std::map<std::vector<int64_t>, std::string> symbols_;
};

}  // namespace

Trial Shrunk(Trial trial, const Failure& failure) {
  Shrinker shrinker(std::move(trial), failure);
  return shrinker.Run();
}

std::string Reproducer(const Trial& trial, const Failure& failure) {
  std::string text = absl::StrCat(failure.kind, ": ", failure.detail, "\n", Text(trial.draft));
  for (const TensorMap& binding : trial.bindings) {
    for (const auto& [name, tensor] : binding) {
      if (trial.draft.inputs.contains(name)) {
        absl::StrAppend(&text, "  ", name, ": ", TypeAndShape(tensor), "\n");
      }
    }
  }
  return text;
}

}  // namespace attnrun::testing
