// SPDX-License-Identifier: Apache-2.0

// A gated feed-forward network multiplies one half of its first product, after an activation, by
// the other half. One operator does that in a single reading of the rows:
//
//     Linear [gate up]                      Linear [gate up]
//        |                                     |
//      Split                        ->      GatedActivation {activation = "Silu"}
//      /    \  .                               |
//   Swish    |                                 y
//      \    /
//       Mul
//        |
//        y

#include <optional>

#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/linear/epilogue.h"

namespace attnrun::opt {
namespace {

// Columns [first, first + width) of a value.
struct Columns {
  Value* base = nullptr;
  int64_t first = 0;
  int64_t width = 0;
};

// The value as columns of the furthest value that it is cut from; nullopt if it is cut from none.
std::optional<Columns> FindColumns(Value* value, Facts& facts) {
  const std::vector<Traced> chain = Trace(value, facts);
  for (size_t i = chain.size(); i-- > 1;) {
    const std::vector<SymInt>& dims = *facts.DimsOf(chain[i].base);
    const View& view = chain[i].view;
    const View base = View::Dense(dims);
    if (dims.empty() || view.rank() != base.rank() || base.axes().back().size() != 1) continue;
    const int last = view.rank() - 1;
    const auto first = view.offset().constant();
    const auto width = view.Extent(last).constant();
    const auto of = dims.back().constant();
    if (!first.has_value() || !width.has_value() || !of.has_value()) continue;
    if (*first < 0 || *width < 1 || *first + *width > *of || *width == *of) continue;
    // The view must have all rows of the base and some of its columns.
    if (base.Sliced(last, *first, *width) == view) return Columns{chain[i].base, *first, *width};
  }
  return std::nullopt;
}

bool FuseGatedActivation(RuleContext& context, Node* node, Patch& patch) {
  for (const int side : {0, 1}) {
    Node* activation = node->input(side)->producer();
    if (activation == nullptr || node->input(0) == node->input(1)) continue;
    const std::string name = ActivationName(*activation);
    if (name.empty()) continue;
    const auto gate = FindColumns(activation->input(0), context.facts);
    const auto up = FindColumns(node->input(1 - side), context.facts);
    if (!gate.has_value() || !up.has_value()) continue;
    if (gate->base != up->base || gate->width != up->width) continue;
    patch.Supersede({node, activation});
    if (!patch.Admits({node->output(0)}, node)) return false;
    AttributeMap attributes = {
        {"activation", name}, {"width", gate->width}, {"gate", gate->first}, {"up", up->first}};
    patch.Replace(node->output(0), patch.Op("attnrun::GatedActivation", {gate->base},
                                            std::move(attributes), node->name()));
    return true;
  }
  return false;
}

}  // namespace

extern const Rule kGatedActivation = {
    .name = "gated_activation",
    .summary = "activation(gate) * up over one packed projection becomes attnrun.GatedActivation",
    .anchors = {"Mul"},
    .propose = FuseGatedActivation};

}  // namespace attnrun::opt
