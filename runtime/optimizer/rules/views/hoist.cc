// SPDX-License-Identifier: Apache-2.0

// Exporters split a packed projection and then reshape or transpose each part alike. One such view
// before the Split does the same. It leaves the last axis as it is.

#include <iterator>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/axis_map.h"
#include "optimizer/rules/views/moves.h"

namespace attnrun::opt {
namespace {

// How the only reader of a part arranges its axes before the last, which stays as it is; nullopt if
// there is another reader.
std::optional<AxisMap> ArrangementOf(const Value* part, const Node* reader, Facts& facts) {
  const std::vector<SymInt>* dims = facts.DimsOf(part);
  if (reader == nullptr || dims == nullptr || dims->empty()) return std::nullopt;
  if (!ops::TraitsOf(*reader).rearranges || reader->input(0) != part) return std::nullopt;
  const View base = View::Dense(*dims);
  const auto view = ApplyViewNode(*reader, *reader->output(0), base, facts);
  if (!view.has_value() || view->rank() == 0 || view->axes().back() != base.axes().back()) {
    return std::nullopt;
  }
  return AxisMap::Between(Leading(base, 1), Leading(*view, 1));
}

// True if the output is a part of the last axis of the input.
bool IsPartOfLastAxis(const Node& split, const Value* part, Facts& facts) {
  const std::vector<SymInt>* dims = facts.DimsOf(split.input(0));
  if (dims == nullptr || dims->size() < 2) return false;
  const View whole = View::Dense(*dims);
  const auto view = ApplyViewNode(split, *part, whole, facts);
  return view.has_value() && view->rank() == whole.rank() && Leading(*view, 1) == Leading(whole, 1);
}

}  // namespace

bool HoistViews(RuleContext& context, Node* split, Patch& patch) {
  Facts& facts = context.facts;
  if (split->outputs().size() < 2 || !MovesElements(*split)) return false;
  std::optional<AxisMap> common;
  std::vector<Node*> readers;
  for (const Value* part : split->outputs()) {
    const bool is_read =
        part != nullptr && (!part->consumers().empty() || context.graph.IsOutput(part));
    readers.push_back(is_read ? OnlyReader(context.graph, part) : nullptr);
    if (!is_read) continue;
    const auto map = ArrangementOf(part, readers.back(), facts);
    if (!map.has_value() || !IsPartOfLastAxis(*split, part, facts)) return false;
    if (common.has_value() && !(*common == *map)) return false;
    common = map;
  }
  // One view takes the place of several.
  if (std::ssize(readers) - absl::c_count(readers, nullptr) < 2) return false;
  std::vector<Value*> inputs = split->inputs();
  inputs[0] = common->Apply(patch, inputs[0], {}, 1);
  if (inputs[0] == nullptr) return false;
  AttributeMap attributes = split->attributes();
  attributes["axis"] = int64_t{-1};
  const std::vector<Value*> parts = patch.Again(*split, inputs, attributes);
  patch.Supersede({split});
  for (size_t i = 0; i < readers.size(); ++i) {
    if (readers[i] == nullptr) continue;
    patch.Supersede({readers[i]});
    patch.Replace(readers[i]->output(0), parts[i]);
  }
  return true;
}

}  // namespace attnrun::opt
