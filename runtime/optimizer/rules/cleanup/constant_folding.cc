// SPDX-License-Identifier: Apache-2.0

// Computes nodes whose inputs are all constant, when the model is loaded, and makes their outputs
// initializers:
//
//   Transpose(initializer w [M, K])  ->  initializer [K, M]
//
// Left as they are: random operators, operators with subgraphs or on sequences, nodes that fail (a
// run reports their error), and results so much larger than their inputs that keeping them would
// cost more memory than computing them.

#include <algorithm>
#include <array>

#include "core/status.h"
#include "ops/composite/run_node.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/patch.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/quantization/qdq_operands.h"

namespace attnrun::opt {
namespace {

// The limit on a result, unless all inputs of the node together are larger.
constexpr size_t kMaxResultBytes = size_t{1} << 20;

// Refuses to allocate results beyond the limit.
class BoundedAllocator final : public Allocator {
 public:
  explicit BoundedAllocator(size_t limit) : limit_(limit) {}
  absl::StatusOr<std::shared_ptr<void>> Allocate(size_t bytes) override {
    if (bytes > limit_) return absl::ResourceExhaustedError("too large to fold");
    return Heap().Allocate(bytes);
  }

 private:
  const size_t limit_;
};

bool MayFold(const Graph& graph, const Node& node) {
  const ops::OpTraits& traits = ops::TraitsOf(node);
  // Initializers are tensors, but no sequences or optionals.
  if (traits.random || traits.kinds != nullptr) return false;
  for (const auto& [name, attribute] : node.attributes()) {
    if (std::holds_alternative<std::shared_ptr<Graph>>(attribute)) return false;
  }
  for (const Value* value : node.inputs()) {
    if (value == nullptr) continue;
    if (!value->is_constant()) return false;
    // The texts of strings, which may grow, do not count as bytes of a tensor.
    if (value->constant()->type() == DataType::kString) return false;
  }
  // A graph output keeps its producer: the outputs of a model are not renamed.
  return std::none_of(node.outputs().begin(), node.outputs().end(), [&](const Value* value) {
    return value != nullptr && graph.IsOutput(value);
  });
}

// The part of RuleContext::foldable_bytes that the node uses besides its results: for operators
// whose time does not follow from the sizes of inputs and results, the number of terms that may be
// added up.
double ExtraCost(const Node& node) {
  static constexpr std::array<absl::string_view, 5> kOps = {"Conv", "ConvInteger", "ConvTranspose",
                                                            "Einsum", "QLinearConv"};
  if (std::find(kOps.begin(), kOps.end(), node.op_type()) == kOps.end()) return 0;
  double terms = 1;
  for (const Value* value : node.inputs()) {
    if (value == nullptr) continue;
    terms *= std::max<double>(1, static_cast<double>(value->constant()->num_elements()));
  }
  return terms;
}

absl::StatusOr<std::vector<Tensor>> Compute(const Node& node, int64_t foldable_bytes) {
  std::vector<Tensor> inputs;
  size_t limit = kMaxResultBytes;
  // Weights stored as integers of 2 bits or more would otherwise be converted to floats in every
  // run.
  const size_t growth = IsOp(&node, "DequantizeLinear") ? 16 : 1;
  for (const Value* value : node.inputs()) {
    inputs.push_back(value == nullptr ? Tensor() : *value->constant());
    limit += growth * inputs.back().byte_size();
  }
  limit = std::min(limit, static_cast<size_t>(foldable_bytes));
  BoundedAllocator allocator(limit);
  // Results made from weights, such as a norm times a direction, would take the reference code long
  // and need more memory than is allowed.
  return limit > 2 * kMaxResultBytes ? ops::RunKernel(node, inputs, allocator)
                                     : ops::RunReference(node, inputs, allocator);
}

bool Fold(RuleContext& context, Node* node, Patch& patch) {
  if (!MayFold(context.graph, *node)) return false;
  if (IsWeightOfIntegers(*node, context.graph, context.facts)) return false;
  int64_t& left = context.foldable_bytes;
  const double extra = ExtraCost(*node);
  if (extra > static_cast<double>(left)) return false;
  absl::StatusOr<std::vector<Tensor>> results = Compute(*node, left);
  left -= static_cast<int64_t>(extra);
  if (!results.ok()) return false;
  patch.Supersede({node});
  for (size_t i = 0; i < results->size(); ++i) {
    left = std::max<int64_t>(left - static_cast<int64_t>((*results)[i].byte_size()), 0);
    Value* old = node->output(i);
    if (old == nullptr || old->consumers().empty()) continue;
    patch.Replace(old, patch.Constant(old->name(), std::move((*results)[i])));
  }
  return true;
}

absl::StatusOr<int> FoldConstants(RuleContext& context) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Node*> order, context.graph.TopologicalOrder());
  return RewriteEachNode(context, order,
                         [&](Node* node, Patch& patch) { return Fold(context, node, patch); });
}

}  // namespace

extern const Rule kConstantFolding = {
    .name = "constant_folding",
    .summary = "A node whose inputs are constant is computed once, when the model is loaded",
    .run = FoldConstants};

}  // namespace attnrun::opt
