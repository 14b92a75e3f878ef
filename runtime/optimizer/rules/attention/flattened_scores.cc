// SPDX-License-Identifier: Apache-2.0

// Some models flatten scores to a matrix, for a Softmax that takes no more axes. The Softmax then
// reads the scores unflattened, so that the attention rule recognizes their axes:
//
//   s [B,N,S,T]                  s [B,N,S,T]
//        |                            |
//   Reshape [B*N*S,T]    ->        Softmax
//        |                            |
//     Softmax                    Reshape [B*N*S,T]

#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/attention/score_order.h"

namespace attnrun::opt {
namespace {

bool KeepAxesOfScores(RuleContext& context, Node* softmax, Patch& patch) {
  constexpr int kFlat = 2;
  if (!IsOverKeys(*softmax, kFlat)) return false;
  Node* reshape = softmax->input(0)->producer();
  if (!IsOp(reshape, "Reshape") || reshape->input(1) == nullptr) return false;
  const std::vector<SymInt>* flat = context.facts.DimsOf(reshape->output(0));
  const std::vector<SymInt>* dims = context.facts.DimsOf(reshape->input(0));
  if (flat == nullptr || flat->size() != kFlat || dims == nullptr || dims->size() <= kFlat) {
    return false;
  }
  if (dims->back() != flat->back()) return false;
  patch.Supersede({softmax});
  Value* y = patch.Op("Softmax", {reshape->input(0)}, {{"axis", int64_t{-1}}}, softmax->name());
  patch.Replace(softmax->output(0),
                patch.Op("Reshape", {y, reshape->input(1)}, reshape->attributes()));
  return true;
}

}  // namespace

extern const Rule kFlattenedScores = {
    .name = "flattened_scores",
    .summary = "A Softmax over scores that were flattened to a matrix reads them unflattened",
    .anchors = {"Softmax"},
    .propose = KeepAxesOfScores};

}  // namespace attnrun::opt
