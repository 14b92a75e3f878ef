// SPDX-License-Identifier: Apache-2.0

// Writes FlexAttention (ai.onnx.preview) as the nodes that it consists of, its two subgraphs among
// them. The rules for attention then find what an exporter would have written out:
//
//   q  k  v                                  q   k
//    \ | /                                    \ /
//   FlexAttention {scale,                    MatMul (k transposed, repeated for grouped heads)
//     score_mod(s) = Where(mask, s, -inf),     |
//     prob_mod(p) = p}                        Mul scale
//      |                           ->          |
//      y                                     Where(mask, s, -inf)
//                                              |
//                                            Softmax    v
//                                               \      /
//                                                MatMul
//                                                  |
//                                                  y

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/hash_map.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/patched_body.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

class FlexAttentionParts {
 public:
  FlexAttentionParts(RuleContext& context, Node* node, Patch& patch)
      : context_(context), node_(*node), patch_(patch), b_(context, node, patch) {}

  bool Propose() {
    const DataType type = b_.TypeOf(b_.input(kQ));
    if (b_.RankOf(b_.input(kQ)) != 4 || type == DataType::kUndefined) {
      return Miss("the rank or the type of Q is not known");
    }
    // Numbers of 16 bits are multiplied as float.
    const DataType wide = type == DataType::kDouble ? type : DataType::kFloat;
    const auto precision =
        static_cast<DataType>(AttributeOr(node_, "softmax_precision", static_cast<int64_t>(wide)));
    Value* k = ByQueryHead(b_.input(kK));
    Value* v = ByQueryHead(b_.input(kV));
    if (k == nullptr || v == nullptr) return Miss("the numbers of its heads are not known");
    k = b_.Op("Transpose", {b_.Cast(k, wide)}, {{"perm", SwapOfLastTwo(4)}});
    Value* scores = Scaled(b_.Op("MatMul", {b_.Cast(b_.input(kQ), wide), k}), wide);
    scores = Modified("score_mod", b_.Cast(scores, precision));
    if (scores == nullptr) return false;
    Value* weights = b_.Op("Softmax", {scores}, {{"axis", int64_t{-1}}});
    weights = Modified("prob_mod", weights);
    if (weights == nullptr) return false;
    Value* y = b_.Op("MatMul", {b_.Cast(weights, wide), b_.Cast(v, wide)});
    b_.Give(b_.Cast(y, type), 0);
    return true;
  }

 private:
  enum Input { kQ, kK, kV };

  bool Miss(std::string why) {
    context_.Miss(node_, std::move(why));
    return false;
  }

  // K or V [B, M, T, H] as [B, N, T, H]: N / M heads of the query, one after the other, share one.
  // Null if the numbers of heads are not known.
  Value* ByQueryHead(Value* keys) {
    const SymInt heads = b_.Dim(b_.input(kQ), 1);
    if (b_.RankOf(keys) != 4) return nullptr;
    if (!heads.HasUnknown() && b_.Dim(keys, 1) == heads) return keys;
    const int64_t all = heads.constant().value_or(0);
    const int64_t own = b_.Extent(keys, 1).value_or(0);
    if (own <= 0 || all <= 0 || all % own != 0) return nullptr;
    Value* repeated = b_.Op("Expand", {b_.Unsqueeze(keys, {2}), b_.Ints({1, 1, all / own, 1, 1})});
    Value* size = b_.Op("Shape", {keys}, {{"start", int64_t{2}}});
    Value* target = b_.Op("Concat", {b_.Ints({0, all}), size}, {{"axis", int64_t{0}}});
    return b_.Op("Reshape", {repeated, target});
  }

  // The scores times `scale`, by default 1 / sqrt(H).
  Value* Scaled(Value* scores, DataType type) {
    Value* q = b_.input(kQ);
    const auto size = b_.Extent(q, 3);
    if (node_.attribute("scale") != nullptr || size.value_or(0) > 0) {
      const double usual = 1 / std::sqrt(static_cast<double>(size.value_or(1)));
      const float scale = AttributeOr(node_, "scale", static_cast<float>(usual));
      return b_.Op("Mul", {scores, b_.Number(type, scale)});
    }
    return b_.Op("Div", {scores, b_.Op("Sqrt", {b_.Cast(b_.ExtentOf(q, 3), type)})});
  }

  // The result of the subgraph of that name, or `value` if there is none. Null after a miss.
  Value* Modified(const std::string& attribute, Value* value) {
    const AttributeValue* held = node_.attribute(attribute);
    if (held == nullptr) return value;
    const auto* body = std::get_if<std::shared_ptr<Graph>>(held);
    if (body == nullptr || (*body)->inputs().size() != 1 || (*body)->outputs().size() != 1) {
      Miss(absl::StrCat(attribute, " is no graph of one input and one output"));
      return nullptr;
    }
    return Inline(attribute, **body, value);
  }

  // Adds the nodes of `body`, which reads `value`, and returns their result; null after a miss.
  Value* Inline(const std::string& attribute, const Graph& body, Value* value) {
    const auto order = body.TopologicalOrder();
    if (!order.ok()) return nullptr;
    HashMap<const Value*, Value*> here = {{body.inputs()[0], value}};
    const auto in_graph = [&](Value* inner) -> Value* {
      if (inner == nullptr) return nullptr;
      Value*& outer = here[inner];
      if (outer == nullptr && inner->outer() != nullptr) outer = inner->outer();
      if (outer == nullptr) outer = patch_.Constant(inner->name(), *inner->constant());
      return outer;
    };
    for (const Node* node : *order) {
      if (HasSubgraph(*node)) {
        Miss(absl::StrCat(node->description(), " of ", attribute, " has a subgraph"));
        return nullptr;
      }
      std::vector<Value*> inputs;
      absl::c_transform(node->inputs(), std::back_inserter(inputs), in_graph);
      const std::vector<Value*> outputs = patch_.Again(*node, inputs, node->attributes());
      for (size_t i = 0; i < outputs.size(); ++i) here[node->output(i)] = outputs[i];
    }
    return in_graph(body.outputs()[0]);
  }

  static bool HasSubgraph(const Node& node) {
    return absl::c_any_of(node.attributes(), [](const auto& attribute) {
      return std::holds_alternative<std::shared_ptr<Graph>>(attribute.second);
    });
  }

  RuleContext& context_;
  const Node& node_;
  Patch& patch_;
  PatchedBody b_;
};

bool ExpandFlexAttention(RuleContext& context, Node* node, Patch& patch) {
  return FlexAttentionParts(context, node, patch).Propose();
}

}  // namespace

extern const Rule kFlexAttention = {
    .name = "flex_attention",
    .summary = "FlexAttention becomes its products, its Softmax and the nodes of its subgraphs",
    .anchors = {"ai.onnx.preview.FlexAttention"},
    .propose = ExpandFlexAttention};

}  // namespace attnrun::opt
