// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_REWRITE_RULE_H_
#define ATTNRUN_OPTIMIZER_REWRITE_RULE_H_

#include <array>
#include <string>
#include <string_view>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// The operators at which a rule starts, written as in Node::qualified_op_type ("MatMul",
// "attnrun.Attention"). Empty entries are unused.
using Anchors = std::array<absl::string_view, 16>;

// Earlier names of a rule. Empty entries are unused.
using Aliases = std::array<absl::string_view, 8>;

// Looks at one node, which is of an anchor's operator and computes its first output. Fills the
// patch and returns true, or returns false. A patch that is not proposed leaves no trace.
using Proposal = bool (*)(RuleContext& context, Node* node, Patch& patch);

// An anchor with a proposal of its own.
struct Start {
  absl::string_view anchor;
  Proposal propose = nullptr;
};

// One rewrite that leaves the graph's results unchanged, up to rounding. Each rule is defined in a
// file of its own below rules/, which opens with a drawing of the graph before and after:
//
//   extern const Rule kSwish = {.name = "swish",
//                               .summary = "x * Sigmoid(alpha * x) becomes Swish",
//                               .anchors = {"Sigmoid"},
//                               .propose = FuseSwish};
//
// and listed in pipeline.cc. Either `propose`, `starts` or both are set, or `run` is.
struct Rule {
  // The name in reports and in `--disable`. Several rules may share one.
  absl::string_view name;
  // One sentence that `attnrun passes` prints.
  absl::string_view summary;
  // No entries mean any operator.
  Anchors anchors = {};
  Proposal propose = nullptr;
  // In place of both at these operators, for a rule that does one thing at one operator and another
  // at the next.
  std::array<Start, 8> starts = {};
  // Rewrites all of the graph at once and returns the number of rewrites, for rules that compare
  // nodes with each other.
  absl::StatusOr<int> (*run)(RuleContext& context) = nullptr;
  // Names that `--disable` and `--stop-after` still take for this rule: its own before it was
  // renamed, and those of rules whose rewrites it took over.
  Aliases aliases = {};
  // The file that defines the rule.
  absl::string_view file = FileOf(__builtin_FILE());

  // True if options mean this rule by `name`.
  bool IsCalled(absl::string_view wanted) const {
    return wanted == name || (!wanted.empty() && absl::c_linear_search(aliases, wanted));
  }

  Anchors AllAnchors() const {
    if (propose != nullptr) return anchors;
    Anchors all = {};
    absl::c_transform(starts, all.begin(), [](const Start& start) { return start.anchor; });
    return all;
  }
  // Precondition: the node is of an anchor's operator.
  Proposal ProposalAt(const Node& node) const {
    if (starts[0].anchor.empty()) return propose;
    const std::string op = node.qualified_op_type();
    const auto* start =
        absl::c_find_if(starts, [&](const Start& candidate) { return candidate.anchor == op; });
    return start == starts.end() ? propose : start->propose;
  }

 private:
  // The path below runtime/, that included.
  static constexpr absl::string_view FileOf(std::string_view path) {
    const size_t at = path.rfind("runtime/optimizer/");
    if (at != std::string_view::npos) path = path.substr(at);
    return absl::string_view(path.data(), path.size());
  }
};

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_REWRITE_RULE_H_
