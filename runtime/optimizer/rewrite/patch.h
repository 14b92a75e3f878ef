// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_REWRITE_PATCH_H_
#define ATTNRUN_OPTIMIZER_REWRITE_PATCH_H_

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "optimizer/rewrite/context.h"

namespace attnrun::opt {

// A rewrite as a transaction: the nodes that it supersedes, the new nodes, and which new value
// replaces which old one. It is applied whole or not at all; a patch that is dropped leaves no
// trace.
//
//   Value* y = patch.Op("attnrun::Linear", {x, weight, bias});
//   return patch.Substitute({matmul, add}, add->output(0), y);
//
// The driver refuses a patch that removes a value that others still read, and reports the reader.
class Patch {
 public:
  explicit Patch(RuleContext& context) : context_(context) {}
  Patch(const Patch&) = delete;
  Patch& operator=(const Patch&) = delete;
  ~Patch();

  // The nodes that the rewrite removes.
  void Supersede(absl::Span<Node* const> nodes);
  const std::vector<Node*>& superseded() const { return superseded_; }

  Facts& facts() const { return context_.facts; }

  // Adds new nodes and initializers. An `op_type` "domain::Name" names another domain, at version
  // 1. Returns null after an error, which Apply returns.
  Value* Op(const std::string& op_type, std::vector<Value*> inputs, AttributeMap attributes = {},
            absl::string_view name = "");
  std::vector<Value*> Ops(const std::string& op_type, int outputs, std::vector<Value*> inputs,
                          AttributeMap attributes = {}, absl::string_view name = "");
  // The node's operator, in its version, with these inputs and attributes.
  std::vector<Value*> Again(const Node& node, std::vector<Value*> inputs, AttributeMap attributes);
  Value* Constant(absl::string_view name, absl::StatusOr<Tensor> data);
  Value* Ints(absl::Span<const int64_t> values);
  Value* Number(absl::string_view name, DataType type, double number);

  // The value in another type, times a number, with its axes permuted, or with its last two axes
  // exchanged: the value itself where that changes nothing, and null for null.
  Value* Cast(Value* value, DataType type);
  Value* Times(Value* value, double factor);
  Value* Transpose(Value* value, const std::vector<int64_t>& permutation);
  Value* SwapLastTwo(Value* value);

  // Makes every reader of `old` read `replacement`, which takes over the name if it is new. Returns
  // true, as a proposal does, or false for null: a value that cannot be written.
  bool Replace(Value* old, Value* replacement);

  // Supersede nodes by a value in place of `old`; a node by one in place of its first output; by a
  // new node of this operator, as Op makes it, with the name of the old one; by one of the same
  // operator and version. They return what Replace does.
  bool Substitute(absl::Span<Node* const> nodes, Value* old, Value* value);
  bool Substitute(Node* node, Value* value);
  bool Substitute(Node* node, const std::string& op_type, std::vector<Value*> inputs,
                  AttributeMap attributes = {});
  bool Rewrite(Node* node, std::vector<Value*> inputs, AttributeMap attributes);

  // True if each output of the superseded nodes that others read has a replacement, as has each
  // graph output. Otherwise reports the first that has none as a near miss at `anchor`, unless that
  // is null.
  bool CanApply(const Node* anchor = nullptr);
  // Applies the patch and reports it. Precondition: CanApply. Returns 1, the number of rewrites;
  // kCancelled if no more are wanted.
  absl::StatusOr<int> Apply();

 private:
  std::vector<Value*> Add(NodeSpec spec, size_t outputs);
  void Fail(const absl::Status& status);
  void Discard();

  RuleContext& context_;
  std::vector<Node*> superseded_;
  std::vector<Node*> added_;
  std::vector<Value*> constants_;
  std::vector<std::pair<Value*, Value*>> replacements_;
  absl::Status status_;
  // Exceptions under way when the patch was made.
  const int exceptions_ = std::uncaught_exceptions();
  bool applied_ = false;
};

// Calls `propose(node, patch)` for each node in order and applies the patch where it returns true
// and the patch can be applied. Skips nodes that an earlier patch has superseded. Returns the
// number of rewrites, or the error of a patch.
absl::StatusOr<int> RewriteEachNode(RuleContext& context, const std::vector<Node*>& nodes,
                                    absl::FunctionRef<bool(Node*, Patch&)> propose);

// The opset of the standard operators that patches write.
inline constexpr int kPatchOpset = 24;

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_REWRITE_PATCH_H_
