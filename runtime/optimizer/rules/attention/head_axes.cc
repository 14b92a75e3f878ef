// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/attention/head_axes.h"

namespace attnrun::opt {
namespace {

// True if `a` steps over fewer elements than `b`.
bool IsFiner(const ViewAxis& a, const ViewAxis& b) {
  if (a.empty() || b.empty()) return false;
  const auto ratio = SymInt::DivideExactly(b.back().stride, a.back().stride);
  return ratio.has_value() && !ratio->is_constant(1) && !ratio->is_constant(0);
}

}  // namespace

HeadAxes FindHeadAxes(Value* q, bool transposed, absl::Span<const SymInt> leading, Facts& facts) {
  HeadAxes axes;
  axes.leading.assign(leading.begin(), leading.end());
  axes.batch = SymInt(1);
  axes.heads = SymInt(1);
  const int rank = facts.RankOf(q);
  const std::vector<Traced> chain = Trace(q, facts, {.factors = true});
  const View* view = nullptr;
  for (const Traced& traced : chain) {
    if (traced.view.rank() == rank) view = &traced.view;
  }
  const size_t count = leading.size();
  const int positions = rank - (transposed ? 1 : 2);
  const bool has_leading = view != nullptr && rank == static_cast<int>(count) + 2;
  if (count == 1) {
    const ViewAxis none;
    const ViewAxis& folded = has_leading ? view->axes()[0] : none;
    if (folded.size() == 2) {
      axes.batch = folded[0].size;
      axes.heads = folded[1].size;
    } else if (has_leading && IsFiner(folded, view->axes()[positions])) {
      axes.heads = leading[0];
    } else {
      axes.batch = leading[0];
    }
  } else if (count == 2) {
    axes.heads_first = has_leading && IsFiner(view->axes()[0], view->axes()[positions]) &&
                       !IsFiner(view->axes()[1], view->axes()[positions]);
    // Strides alone may mislead where samples are the inner axis. An extent that varies from run to
    // run is the number of samples; a fixed one is the number of heads.
    if (!leading[0].constant().has_value() && leading[1].constant().has_value()) {
      axes.heads_first = false;
    }
    axes.batch = leading[axes.heads_first ? 1 : 0];
    axes.heads = leading[axes.heads_first ? 0 : 1];
  } else if (count == 3) {
    axes.heads_split = has_leading && leading[1].constant().has_value() &&
                       IsFiner(view->axes()[1], view->axes()[positions]);
    axes.batch = axes.heads_split ? leading[0] : leading[0] * leading[1];
    axes.heads = axes.heads_split ? leading[1] * leading[2] : leading[2];
  }
  return axes;
}

}  // namespace attnrun::opt
