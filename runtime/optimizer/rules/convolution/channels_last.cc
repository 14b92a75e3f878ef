// SPDX-License-Identifier: Apache-2.0

// Kernels convolve images whose channels are the last axis. ONNX's images [N, C, H, W] have them
// first, so each Conv copies its input and its output. Where that saves copies, convolutions and
// the nodes between them work on images [N, H, W, C]:
//
//   x [N,C,H,W]                          x [N,C,H,W]
//       |                                    |
//     Conv                               Transpose(0,2,3,1)
//       |                                    |
//     Relu                               attnrun.Conv
//       |                     ->             |
//   MaxPool                                Relu
//       |                                    |
//     Conv                               MaxPool, ..
//       |                                    |
//   y [N,M,H,W]                          Transpose(0,3,1,2)
//                                            |
//                                        y [N,M,H,W]
//
// A Conv that projects each element by itself becomes an attnrun.Linear, as the projections of some
// attentions are, which read their operands in either layout. A Reshape of the positions alone has
// both forms, so that tokens [N, H W, C] that are convolved need no Transpose; and convolutions
// along a single axis, on [N, C, L], do.
//
// Each node that has both forms gets one of them, and a value that is written in one layout and
// read in the other is transposed once. The choice that moves fewest elements is the minimum cut of
// a graph with these costs; a Conv in the old layout costs the copies of its input and output. Each
// node is then rewritten between Transposes of its own, which the clean-up cancels.

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "core/hash_map.h"
#include "core/status.h"
#include "ops/tensors/channels_last.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/product_search.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/convolution/conv_parts.h"
#include "optimizer/rules/convolution/image_form.h"
#include "optimizer/rules/convolution/minimum_cut.h"

namespace attnrun::opt {
namespace {

// The extent of axes that differ from run to run.
constexpr int64_t kTypicalExtent = 64;
// The limit on the number of elements, so that costs fit an int64.
constexpr int64_t kMostElements = int64_t{1} << 30;
// Costs: of an element, and of a Transpose. A later Transpose of as many elements costs less, by 1
// for each node, since the rule move_views moves it down as well.
constexpr int64_t kElement = int64_t{1} << 18;
constexpr int64_t kTranspose = int64_t{1} << 17;

// 1 for a value whose shapes contradict each other, so that nothing is known: it will not run.
int64_t TypicalElements(const Value* value, Facts& facts) {
  const std::vector<SymInt>* dims = facts.DimsOf(value);
  if (dims == nullptr) return 1;
  double elements = 1;
  for (const SymInt& extent : *dims) {
    const auto typical = extent.ValueAt([](const std::string&) { return kTypicalExtent; });
    elements *= static_cast<double>(std::max<int64_t>(typical.value_or(kTypicalExtent), 1));
  }
  return static_cast<int64_t>(std::min(elements, static_cast<double>(kMostElements)));
}

// The nodes that have both forms, and the cost of each choice. The side of the source has its
// channels last.
class LayoutChoice {
 public:
  LayoutChoice(Graph& graph, Facts& facts, absl::Span<Node* const> order)
      : graph_(graph), facts_(facts) {
    for (Node* node : order) {
      order_.emplace(node, std::min<int64_t>(std::ssize(order_), kTranspose / 2));
      auto form = ImageFormOf(*node, facts);
      if (form.has_value()) forms_.emplace(node, Choice{*std::move(form), cut_.AddVertex()});
    }
  }

  // The nodes whose channels should be last.
  std::vector<Node*> Choose(absl::Span<Node* const> order) {
    for (Node* node : order) {
      const auto found = forms_.find(node);
      if (found == forms_.end()) continue;
      for (const int i : found->second.form.inputs) AddValue(node->input(i));
      for (const int i : found->second.form.outputs) AddValue(node->output(i));
      AddCopies(*node, found->second.vertex);
    }
    const std::optional<std::vector<bool>> last = cut_.Solve();
    // The graph is too large to choose; it stays right as it is.
    if (!last.has_value()) return {};
    std::vector<Node*> chosen;
    for (Node* node : order) {
      const auto found = forms_.find(node);
      if (found != forms_.end() && (*last)[found->second.vertex]) chosen.push_back(node);
    }
    return chosen;
  }

 private:
  struct Choice {
    ImageForm form;
    int vertex;
  };

  // The elements that a Transpose of the image moves. Those of one position only get another shape.
  int64_t MovedElements(const Value* value) const {
    const std::vector<SymInt>* dims = facts_.DimsOf(value);
    const bool is_image = dims != nullptr && dims->size() > 2;
    const bool is_one =
        is_image && std::all_of(dims->begin() + 2, dims->end(),
                                [](const SymInt& extent) { return extent.is_constant(1); });
    return is_one ? 1 : TypicalElements(value, facts_);
  }

  // The cost of a node in the old layout, if it is a Conv, so that one alone between others keeps
  // it.
  void AddCopies(const Node& conv, int vertex) {
    const auto parts = ConvParts::Of(conv, facts_);
    if (!parts.has_value()) return;
    const int64_t output = TypicalElements(conv.output(0), facts_);
    // A pointwise one is a product in either layout, but ends with an activation in one.
    const int64_t elements =
        parts->IsPointwise() ? output / 2 : TypicalElements(conv.input(0), facts_) + output;
    cut_.AddEdge(MinimumCut::kSource, vertex, elements * kElement);
  }

  bool IsLast(const Node* transpose, bool first) const {
    const int rank = facts_.RankOf(transpose->input(0));
    return IsTranspose(transpose, first ? ops::ChannelsFirst(rank) : ops::ChannelsLast(rank));
  }

  // The vertex of the node that computes an image.
  int VertexOfProducer(const Value* value) const {
    const Node* node = value->producer();
    if (node == nullptr) return MinimumCut::kSink;
    if (IsLast(node, /*first=*/true)) return MinimumCut::kSource;
    const auto found = forms_.find(node);
    const bool writes = found != forms_.end() &&
                        absl::c_linear_search(found->second.form.outputs, value->producer_index());
    return writes ? found->second.vertex : MinimumCut::kSink;
  }

  // The vertex of a node that reads an image; nullopt if it takes either layout.
  std::optional<int> VertexOfReader(const Value* value, const Node* node) const {
    if (IsOp(node, "Shape")) return std::nullopt;
    if (IsLast(node, /*first=*/false)) return MinimumCut::kSource;
    const auto found = forms_.find(node);
    if (found == forms_.end()) {
      // An attention reads its operands in either layout.
      const bool any = MovesElements(*node) && LeadsToProduct(node->output(0));
      return any ? std::nullopt : std::optional(MinimumCut::kSink);
    }
    const ImageForm& form = found->second.form;
    const bool reads = absl::c_any_of(form.inputs, [&](int i) { return node->input(i) == value; });
    return reads ? found->second.vertex : MinimumCut::kSink;
  }

  // Adds the cost of the Transpose between the layout in which the image is written and another in
  // which one or more nodes read it.
  void AddValue(Value* value) {
    if (value->is_constant() || !seen_.insert(value).second) return;
    const auto place = order_.find(value->producer());
    const int64_t later = place == order_.end() ? 0 : place->second;
    const int64_t cost = MovedElements(value) * kElement + kTranspose - later;
    const int producer = VertexOfProducer(value);
    const int is_first = cut_.AddVertex();
    const int is_last = cut_.AddVertex();
    cut_.AddEdge(producer, is_first, cost);
    cut_.AddEdge(is_last, producer, cost);
    const auto add_reader = [&](int reader) {
      cut_.AddEdge(is_first, reader, MinimumCut::kNever);
      cut_.AddEdge(reader, is_last, MinimumCut::kNever);
    };
    for (const Node* reader : value->consumers()) {
      if (const auto vertex = VertexOfReader(value, reader)) add_reader(*vertex);
    }
    if (graph_.IsOutput(value)) add_reader(MinimumCut::kSink);
  }

  Graph& graph_;
  Facts& facts_;
  MinimumCut cut_;
  HashMap<const Node*, Choice> forms_;
  // The places of nodes, with a limit.
  HashMap<const Node*, int64_t> order_;
  HashSet<const Value*> seen_;
};

bool RewriteBetweenTransposes(RuleContext& context, Node* node, Patch& patch) {
  const auto form = ImageFormOf(*node, context.facts);
  if (!form.has_value()) return false;
  std::vector<Value*> inputs = node->inputs();
  for (const int i : form->inputs) {
    const int rank = context.facts.RankOf(inputs[i]);
    inputs[i] = patch.Transpose(inputs[i], ops::ChannelsLast(rank));
  }
  const std::vector<Value*> outputs = form->write(patch, inputs);
  patch.Supersede({node});
  for (int i = 0; i < std::ssize(node->outputs()); ++i) {
    if (node->output(i) == nullptr) continue;
    Value* output = outputs[i];
    if (absl::c_linear_search(form->outputs, i)) {
      const int rank = context.facts.RankOf(node->output(i));
      output = patch.Transpose(output, ops::ChannelsFirst(rank));
    }
    patch.Replace(node->output(i), output);
  }
  return true;
}

absl::StatusOr<int> PutChannelsLast(RuleContext& context) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Node*> order, context.graph.TopologicalOrder());
  if (absl::c_none_of(order, [](const Node* node) { return IsOp(node, "Conv"); })) return 0;
  const std::vector<Node*> chosen = LayoutChoice(context.graph, context.facts, order).Choose(order);
  return RewriteEachNode(context, chosen, [&](Node* node, Patch& patch) {
    return RewriteBetweenTransposes(context, node, patch);
  });
}

}  // namespace

extern const Rule kChannelsLast = {
    .name = "channels_last",
    .summary = "Convolutions and the nodes between them take images whose channels are last",
    .run = PutChannelsLast,
    .aliases = {"pointwise_convolution"}};

}  // namespace attnrun::opt
