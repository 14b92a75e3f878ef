// SPDX-License-Identifier: Apache-2.0
#include "attnrun/fit_inputs.h"

#include <algorithm>

#include "core/exceptions.h"
#include "core/status.h"
#include "graph/declared_extent.h"
#include "input_fit/extent_search.h"
#include "input_fit/input_needs.h"
#include "input_fit/mask_use.h"
#include "known_functions.h"
#include "loader/loader.h"
#include "optimizer/optimizer.h"

namespace attnrun {
namespace {

using Proposals = std::map<std::string, ProposedInput>;

// Calls visit(input, proposed, axis, dim) for each axis that is declared and proposed.
template <typename Visit>
void ForEachAxis(const Graph& graph, const Proposals& proposed, Visit visit) {
  for (const Value* input : graph.inputs()) {
    const auto found = proposed.find(input->name());
    const auto& shape = input->type().shape;
    if (found == proposed.end() || !shape.has_value()) continue;
    const size_t rank = std::min(shape->size(), found->second.shape.size());
    for (size_t axis = 0; axis < rank; ++axis) visit(*input, found->second, axis, (*shape)[axis]);
  }
}

std::string SymbolOf(const Value& input, const Dim& dim, size_t axis) {
  return DeclaredExtent(input.name(), dim, axis).ToString();
}

fit::ExtentSearch::Extents WishedExtents(const Graph& graph, const Proposals& proposed) {
  fit::ExtentSearch::Extents extents;
  ForEachAxis(graph, proposed,
              [&](const Value& input, const ProposedInput& wish, size_t axis, const Dim& dim) {
                if (dim.is_fixed()) return;
                const bool is_fixed = axis < wish.is_fixed.size() && wish.is_fixed[axis];
                auto& extent = extents[SymbolOf(input, dim, axis)];
                if (!extent.is_fixed) extent = {wish.shape[axis], is_fixed};
              });
  return extents;
}

absl::StatusOr<std::map<std::string, FittedInput>> Fit(const std::string& path,
                                                       const Proposals& proposed) {
  ATTNRUN_ASSIGN_OR_RETURN(const loader::Model model, loader::LoadModel(path, KnownFunctions()));
  Graph& graph = *model.graph;
  // Further rewrites would remove nodes that tell what they need.
  ATTNRUN_RETURN_IF_ERROR(opt::Optimize(graph, {.stop_after = "constant_folding"}).status());
  const fit::InputNeeds needs = fit::NeedsOf(graph);
  fit::ExtentSearch search(needs, WishedExtents(graph, proposed));
  search.Run();
  std::map<std::string, FittedInput> fitted;
  for (const Value* input : graph.inputs()) {
    const auto found = proposed.find(input->name());
    if (found == proposed.end()) continue;
    FittedInput& result = fitted[input->name()];
    result.shape = found->second.shape;
    result.masks_where_true = fit::MasksWhereTrue(input);
    const auto indexed = needs.indexed.find(input->name());
    if (indexed == needs.indexed.end()) continue;
    for (const SymInt& extent : indexed->second) {
      const int64_t limit = search.ValueOf(extent).value_or(-1);
      if (limit < 0) continue;
      result.index_limit = result.index_limit < 0 ? limit : std::min(result.index_limit, limit);
    }
  }
  ForEachAxis(graph, proposed,
              [&](const Value& input, const ProposedInput&, size_t axis, const Dim& dim) {
                if (dim.is_fixed()) return;
                fitted[input.name()].shape[axis] = search.Value(SymbolOf(input, dim, axis));
              });
  return fitted;
}

}  // namespace

absl::StatusOr<std::map<std::string, FittedInput>> FitInputs(const std::string& path,
                                                             const Proposals& proposed) {
  return WithoutExceptions([&] { return Fit(path, proposed); });
}

}  // namespace attnrun
