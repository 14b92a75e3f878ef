#ifndef ATTNRUN_OPTIMIZER_FUSIONS_ATTENTION_HEAD_VIEWS_H_
#define ATTNRUN_OPTIMIZER_FUSIONS_ATTENTION_HEAD_VIEWS_H_

#include <optional>

#include "absl/types/span.h"
#include "ops/attention/head_layout.h"
#include "optimizer/view.h"

namespace attnrun {

// The layout of a view [b, s, n, h] of a base of these extents; nullopt if no layout expresses it.
std::optional<HeadLayout> LayoutOf(const View& view, absl::Span<const SymInt> base);

// The view [b, s, n, h] that a layout is of a base; the inverse of LayoutOf. An absent axis has
// extent 1. nullopt if the layout does not fit.
std::optional<View> ViewOf(const HeadLayout& layout, const View& base);

}  // namespace attnrun

#endif  // ATTNRUN_OPTIMIZER_FUSIONS_ATTENTION_HEAD_VIEWS_H_
