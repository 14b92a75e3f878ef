// SPDX-License-Identifier: Apache-2.0

// A BatchNormalization with constant parameters, or a product or sum with a constant for each
// channel, is a part of the convolution or Gemm in front of it:
//
//   x   W   b                         x   W * s   b * s + t
//    \  |  /                           \    |    /
//     Conv                               Conv
//       |                     ->           |
//   BatchNormalization                     y
//       |
//       y
//
// where y = s * Conv(x) + t for each channel. The same holds behind ConvTranspose and Gemm, and for
// one in front of a Conv:
//
//   Conv(s * x + t, W, b)   ->   Conv(x, W * s, b + sum of W * t)
//
// t must be 0 if the Conv pads: its zeros stay zeros. Products are computed as doubles and rounded
// once. Covers products that nobody else reads. A factor behind a Gemm stays where it is, since it
// may be the scale of an attention.

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "core/elements.h"
#include "core/status.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/convolution/channel_map.h"
#include "optimizer/rules/linear/linear_match.h"

namespace attnrun::opt {
namespace {

// A product with constant weights, whose columns are the channels of its output.
class ChannelProduct {
 public:
  // nullopt for other nodes and null.
  static std::optional<ChannelProduct> Of(const Node* node) {
    const bool is_gemm = IsOp(node, "Gemm");
    if (!is_gemm && !IsOp(node, "Conv") && !IsOp(node, "ConvTranspose")) return std::nullopt;
    ChannelProduct product(*node);
    const Value* w = node->input(1);
    if (w == nullptr || !w->is_constant() || !IsFloatingPoint(w->constant()->type())) {
      return std::nullopt;
    }
    const Tensor& weight = *w->constant();
    const int rank = weight.rank();
    if (weight.num_elements() == 0 || (is_gemm ? rank != 2 || !IsPlainGemm(*node) : rank < 3)) {
      return std::nullopt;
    }
    product.group_ = is_gemm ? 1 : AttributeOr<int64_t>(*node, "group", 1);
    // [C, M/group, ..] in place of [M, C/group, ..].
    product.inputs_first_ =
        is_gemm ? AttributeOr<int64_t>(*node, "transB", 0) == 0 : IsOp(node, "ConvTranspose");
    if (product.group_ < 1 || weight.dim(0) % product.group_ != 0) return std::nullopt;
    const Value* bias = node->input(2);
    if (bias != nullptr && !IsBias(bias, product.outputs(), 2)) return std::nullopt;
    return product;
  }

  const Tensor& weight() const { return *node_.input(1)->constant(); }
  int64_t outputs() const {
    return weight().dim(inputs_first_ ? 1 : 0) * (inputs_first_ ? group_ : 1);
  }
  int64_t inputs() const {
    return weight().dim(inputs_first_ ? 0 : 1) * (inputs_first_ ? 1 : group_);
  }

  // The channels that element `index` of the weight multiplies and adds to.
  int64_t InputOf(int64_t index) const { return inputs_first_ ? Outer(index) : Inner(index); }
  int64_t OutputOf(int64_t index) const { return inputs_first_ ? Inner(index) : Outer(index); }

  // The bias, or zeros.
  absl::StatusOr<std::vector<double>> Bias() const {
    if (node_.input(2) == nullptr) return std::vector<double>(outputs(), 0);
    return ToDoubles(*node_.input(2)->constant());
  }

 private:
  explicit ChannelProduct(const Node& node) : node_(node) {}

  int64_t Taps() const { return weight().num_elements() / weight().dim(0) / weight().dim(1); }
  int64_t Outer(int64_t index) const { return index / Taps() / weight().dim(1); }
  int64_t Inner(int64_t index) const {
    const int64_t of_group = weight().dim(0) / group_;
    return Outer(index) / of_group * weight().dim(1) + index / Taps() % weight().dim(1);
  }

  const Node& node_;
  int64_t group_ = 1;
  bool inputs_first_ = false;
};

// The weight and the bias of a product, as doubles.
struct Numbers {
  std::vector<double> weight;
  std::vector<double> bias;
};

absl::StatusOr<Numbers> NumbersOf(const ChannelProduct& product) {
  Numbers numbers;
  ATTNRUN_ASSIGN_OR_RETURN(numbers.weight, ToDoubles(product.weight()));
  ATTNRUN_ASSIGN_OR_RETURN(numbers.bias, product.Bias());
  return numbers;
}

void ApplyBehind(const ChannelProduct& product, const ChannelMap& map, Numbers& numbers) {
  for (size_t i = 0; i < numbers.weight.size(); ++i) {
    numbers.weight[i] *= map.scale[product.OutputOf(static_cast<int64_t>(i))];
  }
  for (size_t m = 0; m < numbers.bias.size(); ++m) {
    numbers.bias[m] = numbers.bias[m] * map.scale[m] + map.shift[m];
  }
}

void ApplyInFront(const ChannelProduct& product, const ChannelMap& map, Numbers& numbers) {
  for (size_t i = 0; i < numbers.weight.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    const int64_t input = product.InputOf(index);
    numbers.bias[product.OutputOf(index)] += numbers.weight[i] * map.shift[input];
    numbers.weight[i] *= map.scale[input];
  }
}

// The numbers as a tensor; an error if one is not finite in this type.
absl::StatusOr<Tensor> Rounded(const std::vector<double>& numbers, DataType type,
                               absl::Span<const int64_t> shape) {
  ATTNRUN_ASSIGN_OR_RETURN(Tensor tensor, FromDoubles(type, shape, numbers));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> rounded, ToDoubles(tensor));
  if (absl::c_all_of(rounded, [](double x) { return std::isfinite(x); })) return tensor;
  return absl::OutOfRangeError("not finite");
}

// Writes the product over `x` in the place of `nodes`, with the weight and bias that `apply` makes
// of its own and the map.
bool Fold(RuleContext& context, Patch& patch, Node* node, const ChannelProduct& product, Value* x,
          const ChannelMap& map, absl::Span<Node* const> nodes,
          void (*apply)(const ChannelProduct&, const ChannelMap&, Numbers&)) {
  const Tensor& weight = product.weight();
  const auto bytes = static_cast<int64_t>(weight.byte_size());
  if (bytes > context.foldable_bytes) return false;
  absl::StatusOr<Numbers> numbers = NumbersOf(product);
  if (!numbers.ok()) return false;
  apply(product, map, *numbers);
  Value* w = node->input(1);
  const Value* bias = node->input(2);
  auto b = Rounded(numbers->bias, weight.type(), {product.outputs()});
  if (!b.ok()) return false;
  if (!map.only_shifts()) {
    auto scaled = Rounded(numbers->weight, weight.type(), weight.shape());
    if (!scaled.ok()) return false;
    w = patch.Constant(w->name(), *std::move(scaled));
    context.foldable_bytes -= bytes;
  }
  const std::string name = bias == nullptr ? w->name() + "/bias" : bias->name();
  Value* y = patch.Again(*node, {x, w, patch.Constant(name, *std::move(b))}, node->attributes())[0];
  return patch.Substitute(nodes, nodes.back()->output(0), y);
}

bool FoldBehind(RuleContext& context, Node* node, Patch& patch) {
  for (Value* input : {node->input(0), node->input(1)}) {
    Node* before = input == nullptr ? nullptr : input->producer();
    const auto product = ChannelProduct::Of(before);
    if (!product.has_value() || OnlyReader(context.graph, input) != node) continue;
    if (IsOp(before, "Gemm") && !IsOp(node, "BatchNormalization")) continue;
    for (const ChannelMap& map : ChannelMapsOf(node, product->outputs(), context.facts)) {
      if (map.x != input) continue;
      return Fold(context, patch, before, *product, before->input(0), map, {before, node},
                  ApplyBehind);
    }
  }
  return false;
}

bool Pads(const Node& conv) {
  const auto kind = AttributeOr<std::string>(conv, "auto_pad", "NOTSET");
  const auto pads = AttributeOr<std::vector<int64_t>>(conv, "pads", {});
  return (kind != "NOTSET" && kind != "VALID") ||
         absl::c_any_of(pads, [](int64_t pad) { return pad != 0; });
}

bool FoldInFront(RuleContext& context, Node* conv, Patch& patch) {
  Node* before = conv->input(0)->producer();
  const auto product = ChannelProduct::Of(conv);
  if (before == nullptr || !product.has_value()) return false;
  if (OnlyReader(context.graph, conv->input(0)) != conv) return false;
  for (const ChannelMap& map : ChannelMapsOf(before, product->inputs(), context.facts)) {
    if (map.x->is_constant() || (map.shifts() && Pads(*conv))) continue;
    return Fold(context, patch, conv, *product, map.x, map, {before, conv}, ApplyInFront);
  }
  return false;
}

}  // namespace

extern const Rule kFoldedScale = {
    .name = "folded_scale",
    .summary =
        "A BatchNormalization, or a constant for each channel, joins the weights of a "
        "convolution or Gemm beside it",
    .starts = {{{"BatchNormalization", FoldBehind},
                {"Mul", FoldBehind},
                {"Div", FoldBehind},
                {"Add", FoldBehind},
                {"Sub", FoldBehind},
                {"Conv", FoldInFront}}}};

}  // namespace attnrun::opt
