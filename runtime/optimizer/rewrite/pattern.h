// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_REWRITE_PATTERN_H_
#define ATTNRUN_OPTIMIZER_REWRITE_PATTERN_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "optimizer/analysis/facts.h"

namespace attnrun::opt {

// The nodes of a match, the root first.
using MatchedNodes = std::vector<Node*>;

// A pattern says which values it matches. Patterns are built from the functions below, matched
// from an output towards its producers, and write what they find into the variables they are given:
//
//   Value* x;  double epsilon;
//   const Pattern mean = Op("ReduceMean", {Is(&x)});
//   ...
//   MatchedNodes nodes;
//   if (root.Match(value, facts, nodes)) ...
//
// After a failed match the variables are unspecified.
class Pattern {
 public:
  // `match(value, facts, nodes)` appends nodes and returns a bool.
  template <typename Function>
  explicit Pattern(Function match)
      : matcher_(std::make_shared<const MatcherOf<Function>>(std::move(match))) {}

  // Appends the nodes that take part; leaves `nodes` as it was on failure. A null value, an input
  // left out, matches nothing.
  bool Match(Value* value, Facts& facts, MatchedNodes& nodes) const;

  // True for Rest().
  bool is_rest() const { return matcher_ == nullptr; }

 private:
  friend Pattern Rest();

  struct Matcher {
    virtual ~Matcher() = default;
    virtual bool Match(Value* value, Facts& facts, MatchedNodes& nodes) const = 0;
  };
  template <typename Function>
  struct MatcherOf final : Matcher {
    explicit MatcherOf(Function match) : match(std::move(match)) {}
    bool Match(Value* value, Facts& facts, MatchedNodes& nodes) const override {
      return match(value, facts, nodes);
    }
    const Function match;
  };

  Pattern() = default;

  // Rules build patterns for every node that they look at, and copy them into larger ones. So they
  // are shared, and each takes one allocation.
  std::shared_ptr<const Matcher> matcher_;
};

using Patterns = absl::InlinedVector<Pattern, 2>;

// Any value; captures it.
Pattern Is(Value** capture);
// The value that another part of the pattern captured before; inputs are matched in order.
Pattern Same(Value* const* captured);
// A constant of one element; captures it as a double.
Pattern Scalar(double* capture);
// A constant of one element that equals `number` within a relative error of `relative`.
Pattern Number(double number, double relative = 1e-3);
// A value whose elements all equal `number`.
Pattern Uniform(double number);
// Any constant; captures the value.
Pattern Constant(Value** capture);
// The first output of a node of the standard domain that has these inputs and no others. Two inputs
// of Max, Min or an operator that commutes (traits.h) may be in either order. The name must outlive
// the pattern.
Pattern Op(absl::string_view op_type, Patterns inputs, Node** capture = nullptr);
// The last input of an Op: any number of further inputs, or none.
Pattern Rest();
// A reduction over one axis that stays with extent 1 (reduction.h); captures the axis.
Pattern Reduction(absl::string_view op_type, int64_t* axis, Pattern inner);
// The same over the last axis.
Pattern OfRow(absl::string_view op_type, Pattern inner);
// Matches the first of several alternatives that fits.
Pattern OneOf(Patterns alternatives);
// The pattern itself, or a Cast of it.
Pattern MaybeCast(const Pattern& inner);
// The pattern; also captures the value that it is matched against.
Pattern Keep(Value** capture, Pattern inner);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_REWRITE_PATTERN_H_
