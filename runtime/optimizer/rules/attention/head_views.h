// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_HEAD_VIEWS_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_HEAD_VIEWS_H_

#include <optional>
#include <string>

#include "absl/types/span.h"
#include "graph/graph.h"
#include "ops/attention/head_layout.h"
#include "optimizer/analysis/view.h"

namespace attnrun::opt {

// The layout, written for attnrun.Attention, that reads the view [b, s, n, h] from a base of these
// extents; nullopt if no layout expresses it.
std::optional<ops::HeadLayout> LayoutOf(const View& view, absl::Span<const SymInt> base);

// The view [b, s, n, h] that a layout reads from a base; the inverse of LayoutOf. An axis that the
// layout leaves out has extent 1. nullopt if the layout does not fit.
std::optional<View> ViewOf(const ops::HeadLayout& layout, const View& base);

// The layout of Q, K or V, operand 0, 1 or 2 of an attnrun.Attention, and the view [b, s, n, h]
// that the attention reads by it if the operand is the view `of`; nullopt if that does not fit.
std::string LayoutOf(const Node& attention, size_t operand);
std::optional<View> HeadsOf(const Node& attention, size_t operand, const View& of);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_HEAD_VIEWS_H_
