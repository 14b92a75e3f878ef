// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_REWRITE_RULE_H_
#define ATTNRUN_OPTIMIZER_REWRITE_RULE_H_

#include <array>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// The operators a rule starts from, as Node::qualified_op_type has them: "MatMul",
// "attnrun.Attention". Empty entries are unused.
using Anchors = std::array<absl::string_view, 16>;

// One rewrite that leaves what the graph computes unchanged, up to rounding. A rule is defined in a
// file of its own below rules/, which opens with a drawing of the graph before and after:
//
//   extern const Rule kSwish = {.name = "swish",
//                               .summary = "x * Sigmoid(alpha * x) becomes Swish",
//                               .anchors = {"Sigmoid"},
//                               .propose = FuseSwish};
//
// and listed in pipeline.cc. Exactly one of `propose` and `run` is set.
struct Rule {
  // The name in reports and in `--disable`. Several rules may share one.
  absl::string_view name;
  // One sentence for `attnrun passes`.
  absl::string_view summary;
  // All empty: any operator.
  Anchors anchors = {};
  // Builds the rewrite at a node that computes its first output and returns true, or returns false.
  // `node` is of an anchor's operator. A patch that is not proposed leaves no trace.
  bool (*propose)(RuleContext& context, Node* node, Patch& patch) = nullptr;
  // Rewrites all of the graph at once and returns the number of rewrites: for rules that compare
  // nodes with each other.
  absl::StatusOr<int> (*run)(RuleContext& context) = nullptr;
  // The file that defines the rule.
  absl::string_view file = FileOf(__builtin_FILE());

 private:
  // The path from runtime/ on.
  static constexpr absl::string_view FileOf(absl::string_view path) {
    const size_t at = path.rfind("runtime/optimizer/");
    return at == absl::string_view::npos ? path : path.substr(at);
  }
};

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_REWRITE_RULE_H_
