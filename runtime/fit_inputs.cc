// SPDX-License-Identifier: Apache-2.0
#include "attnrun/fit_inputs.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "core/exceptions.h"
#include "core/status.h"
#include "graph/declared_extent.h"
#include "input_fit/extent_search.h"
#include "input_fit/input_needs.h"
#include "input_fit/mask_use.h"
#include "inputs.h"
#include "known_functions.h"
#include "loader/loader.h"
#include "optimizer/optimizer.h"

namespace attnrun {
namespace {

std::vector<std::string> AllPassesBut(std::initializer_list<absl::string_view> kept) {
  std::vector<std::string> passes = opt::PassNames();
  std::erase_if(passes, [&](const std::string& name) { return absl::c_linear_search(kept, name); });
  return passes;
}

}  // namespace

class InputFitter::Impl {
 public:
  using Proposals = std::map<std::string, ProposedInput>;
  using Fitted = std::map<std::string, FittedInput>;

  explicit Impl(const Graph& graph) : inputs_(DescribeInputs(graph)), needs_(fit::NeedsOf(graph)) {
    for (const Value* input : graph.inputs()) {
      masks_where_true_[input->name()] = fit::MasksWhereTrue(input);
    }
  }

  Fitted Fit(const Proposals& proposed) const {
    fit::ExtentSearch search(needs_, WishedExtents(proposed));
    search.Run();
    Fitted fitted;
    for (const auto& [name, masks] : masks_where_true_) {
      const auto found = proposed.find(name);
      if (found == proposed.end()) continue;
      fitted[name] = {found->second.shape, IndexLimit(name, search), masks};
    }
    ForEachAxis(proposed, [&](const ValueInfo& input, const ProposedInput&, size_t axis,
                              const std::string& symbol) {
      fitted[input.name].shape[axis] = search.Value(symbol);
    });
    return fitted;
  }

 private:
  // Calls visit(input, proposed, axis, symbol) for each axis that is proposed and has no fixed
  // extent.
  template <typename Visit>
  void ForEachAxis(const Proposals& proposed, Visit visit) const {
    for (const ValueInfo& input : inputs_) {
      const auto found = proposed.find(input.name);
      if (found == proposed.end() || !input.shape.has_value()) continue;
      const size_t rank = std::min(input.shape->size(), found->second.shape.size());
      for (size_t axis = 0; axis < rank; ++axis) {
        const Dim& dim = (*input.shape)[axis];
        if (dim.is_fixed()) continue;
        visit(input, found->second, axis, DeclaredExtent(input.name, dim, axis).ToString());
      }
    }
  }

  fit::ExtentSearch::Extents WishedExtents(const Proposals& proposed) const {
    fit::ExtentSearch::Extents extents;
    ForEachAxis(proposed, [&](const ValueInfo&, const ProposedInput& wish, size_t axis,
                              const std::string& symbol) {
      const bool is_fixed = axis < wish.is_fixed.size() && wish.is_fixed[axis];
      auto& extent = extents[symbol];
      if (!extent.is_fixed) extent = {wish.shape[axis], is_fixed};
    });
    return extents;
  }

  // The least extent of the axes that the input's elements index; -1 if there is none.
  int64_t IndexLimit(const std::string& name, const fit::ExtentSearch& search) const {
    int64_t least = -1;
    const auto indexed = needs_.indexed.find(name);
    if (indexed == needs_.indexed.end()) return least;
    for (const SymInt& extent : indexed->second) {
      const int64_t limit = search.ValueOf(extent).value_or(-1);
      if (limit >= 0) least = least < 0 ? limit : std::min(least, limit);
    }
    return least;
  }

  const std::vector<ValueInfo> inputs_;
  const fit::InputNeeds needs_;
  // By the names of the inputs.
  std::map<std::string, bool> masks_where_true_;
};

InputFitter::InputFitter(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
InputFitter::InputFitter(InputFitter&&) noexcept = default;
InputFitter& InputFitter::operator=(InputFitter&&) noexcept = default;
InputFitter::~InputFitter() = default;

absl::StatusOr<InputFitter> InputFitter::Load(const std::string& path) {
  return WithoutExceptions([&]() -> absl::StatusOr<InputFitter> {
    ATTNRUN_ASSIGN_OR_RETURN(const loader::Model model, loader::LoadModel(path, KnownFunctions()));
    // Other rewrites would remove nodes that tell what they need.
    ATTNRUN_RETURN_IF_ERROR(
        opt::Optimize(*model.graph, {.disabled_passes = AllPassesBut(
                                         {"constant_folding", "shape_folding", "known_branches"})})
            .status());
    return InputFitter(std::make_unique<const Impl>(*model.graph));
  });
}

std::map<std::string, FittedInput> InputFitter::Fit(
    const std::map<std::string, ProposedInput>& proposed) const {
  return impl_->Fit(proposed);
}

}  // namespace attnrun
