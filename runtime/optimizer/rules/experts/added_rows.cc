// SPDX-License-Identifier: Apache-2.0

// PyTorch's y[tokens] += rows reads rows, adds to them and sets them again. Where no token occurs
// twice, that is adding:
//
//   y   tokens
//   |\   /
//   | Gather  rows            y   tokens   rows
//   |    \    /                \    |      /
//   |      Add        ->       ScatterND add
//   |       |
//   ScatterND at tokens

#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/experts/expert_layers.h"
#include "optimizer/rules/experts/expert_routes.h"

namespace attnrun::opt {
namespace {

bool AddRows(RuleContext& context, Node* scatter, Patch& patch) {
  Facts& facts = context.facts;
  Value* y = scatter->input(0);
  Value* places = scatter->input(1);
  const Readings sums = ReadingsOf(ProducerOf(SameRows(scatter->input(2), facts), "Add"));
  if (sums.empty() || AttributeOr<std::string>(*scatter, "reduction", "none") != "none" ||
      facts.RankOf(y) != 2 || facts.RankOf(places) != 2 || facts.Extent(places, -1) != 1) {
    return false;
  }
  const auto row = PlaceRowOf(places, facts);
  const auto tokens = row.has_value() ? TokensOf(*row->places, facts) : std::nullopt;
  if (!tokens.has_value() || tokens->token_row != row->row ||
      !AreDistinct(tokens->numbers, facts)) {
    return false;
  }
  const std::vector<SymInt>* dims = facts.DimsOf(scatter->input(2));
  for (const auto& [old, rows] : sums) {
    const std::vector<SymInt>* own = facts.DimsOf(rows);
    const bool whole = dims != nullptr && own != nullptr && *own == *dims;
    if (!whole || GatheredFrom(old, *tokens, facts) != SameRows(y, facts)) continue;
    return patch.Substitute(scatter, "ScatterND", {y, places, rows},
                            {{"reduction", std::string("add")}});
  }
  return false;
}

}  // namespace

extern const Rule kAddedRows = {.name = "experts",
                                .summary = "Rows that are read, added to and set again are added",
                                .anchors = {"ScatterND"},
                                .propose = AddRows};

}  // namespace attnrun::opt
