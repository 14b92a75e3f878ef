#include "optimizer/fusions/projection/merge.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/quote.h"
#include "core/status.h"
#include "ops/linear/linear.h"
#include "ops/linear/quantized_linear.h"
#include "optimizer/fusions/projection/join_columns.h"
#include "optimizer/node_queries.h"

namespace attnrun {
namespace {

// One of the matrices that a Linear multiplies by.
struct Weight {
  Value* value = nullptr;
  bool transposed = false;

  int64_t Rows() const { return value->constant()->dim(transposed ? 1 : 0); }
  int64_t Columns() const { return value->constant()->dim(transposed ? 0 : 1); }
};

bool IsQuantized(const Node& linear) { return linear.op_type() == "QuantizedLinear"; }

// Precondition: IsLinear(node).
std::vector<Weight> WeightsOf(const Node& node) {
  std::vector<Weight> weights;
  if (IsQuantized(node)) {
    for (int i = 0; i < QuantizedLinear::NumWeights(node.inputs().size()); ++i) {
      weights.push_back({node.input(QuantizedLinear::WeightInput(i))});
    }
    return weights;
  }
  AttributeReader attributes(node, node.opset());
  const Linear linear(attributes);
  for (int i = 0; i < Linear::NumWeights(node.inputs().size()); ++i) {
    weights.push_back({node.input(Linear::WeightInput(i)), linear.is_transposed(i)});
  }
  return weights;
}

std::vector<Weight> WeightsOf(const std::vector<Node*>& linears) {
  std::vector<Weight> all;
  for (const Node* linear : linears) {
    const std::vector<Weight> weights = WeightsOf(*linear);
    all.insert(all.end(), weights.begin(), weights.end());
  }
  return all;
}

int64_t Columns(const Node& linear) {
  int64_t columns = 0;
  for (const Weight& weight : WeightsOf(linear)) columns += weight.Columns();
  return columns;
}

DataType BiasType(const Node& linear) {
  return IsQuantized(linear) ? DataType::kFloat : linear.input(Linear::kWeight)->constant()->type();
}

// Whether all multiply the same numbers: of integers, with the same scale and zero point.
bool SameInput(const std::vector<Node*>& linears) {
  const Node& first = *linears[0];
  return absl::c_all_of(linears, [&](const Node* linear) {
    if (linear->op_type() != first.op_type() || linear->input(0) != first.input(0)) return false;
    return !IsQuantized(first) ||
           (linear->input(QuantizedLinear::kXScale) == first.input(QuantizedLinear::kXScale) &&
            linear->input(QuantizedLinear::kXZeroPoint) ==
                first.input(QuantizedLinear::kXZeroPoint));
  });
}

// Whether weights and biases can stand beside each other; where not, the model fails when it runs.
bool FitTogether(const std::vector<Node*>& linears) {
  const std::vector<Weight> weights = WeightsOf(linears);
  const DataType type = weights[0].value->constant()->type();
  const bool biases_fit = absl::c_all_of(linears, [&](const Node* linear) {
    const Value* bias = linear->input(Linear::kBias);
    return bias == nullptr || (bias->constant()->type() == BiasType(*linears[0]) &&
                               bias->constant()->shape() == Shape{Columns(*linear)});
  });
  return SameInput(linears) && biases_fit && absl::c_all_of(weights, [&](const Weight& weight) {
           return weight.Rows() == weights[0].Rows() && weight.value->constant()->type() == type;
         });
}

// Input `input` of each, one element per column, one after the other: one element stands for all
// columns of its node, none for zeros. Null if none of them has any.
Value* JoinedColumns(Patch& patch, const std::vector<Node*>& linears, int input, DataType type,
                     absl::string_view name) {
  std::vector<ColumnConstant> parts;
  for (const Node* linear : linears) {
    const Value* value = linear->input(input);
    parts.push_back({value == nullptr ? nullptr : value->constant(), Columns(*linear)});
  }
  if (absl::c_all_of(parts, [](const ColumnConstant& part) { return part.tensor == nullptr; })) {
    return nullptr;
  }
  const std::string& weight = linears[0]->input(Linear::kWeight)->name();
  return patch.Constant(absl::StrCat(weight, "/merged_", name), JoinColumns(parts, type));
}

// What the merged node has beside X, its weights and its bias.
void AddQuantization(Patch& patch, const std::vector<Node*>& linears, std::vector<Value*>& inputs) {
  using Q = QuantizedLinear;
  const DataType type = linears[0]->input(Q::kWeight)->constant()->type();
  inputs.resize(Q::kMoreWeights, nullptr);
  inputs[Q::kXScale] = linears[0]->input(Q::kXScale);
  inputs[Q::kXZeroPoint] = linears[0]->input(Q::kXZeroPoint);
  inputs[Q::kWeightScale] =
      JoinedColumns(patch, linears, Q::kWeightScale, DataType::kFloat, "scale");
  inputs[Q::kWeightZeroPoint] =
      JoinedColumns(patch, linears, Q::kWeightZeroPoint, type, "zero_point");
}

// The inputs of a node of the same kind over the weights side by side.
std::vector<Value*> InputsOf(Patch& patch, const std::vector<Node*>& linears,
                             const std::vector<Weight>& weights) {
  std::vector<Value*> inputs(Linear::kMoreWeights, nullptr);
  inputs[Linear::kX] = linears[0]->input(Linear::kX);
  inputs[Linear::kWeight] = weights[0].value;
  inputs[Linear::kBias] =
      JoinedColumns(patch, linears, Linear::kBias, BiasType(*linears[0]), "bias");
  if (IsQuantized(*linears[0])) AddQuantization(patch, linears, inputs);
  for (size_t i = 1; i < weights.size(); ++i) inputs.push_back(weights[i].value);
  return inputs;
}

AttributeMap AttributesOf(const std::vector<Weight>& weights) {
  std::vector<int64_t> transposed;
  transposed.reserve(weights.size());
  for (const Weight& weight : weights) transposed.push_back(weight.transposed ? 1 : 0);
  if (absl::c_count(transposed, 1) == 0) return {};
  return {{Linear::kTransposed, transposed}};
}

// Scales and zero points of weights; a Linear has none.
bool HasConstantColumns(const Node& node) {
  if (!IsQuantized(node)) return true;
  const Value* scale = node.input(QuantizedLinear::kWeightScale);
  const Value* zero = node.input(QuantizedLinear::kWeightZeroPoint);
  return scale->is_constant() && (zero == nullptr || zero->is_constant());
}

}  // namespace

bool LinearMerger::CanMerge(const Node& node, std::string& why) {
  if (!IsLinear(node)) {
    why = absl::StrCat("the weight of ", node.description(), " is not constant");
    return false;
  }
  const bool plain = node.input(Linear::kResidual) == nullptr &&
                     AttributeOr<std::string>(node, "activation", "").empty();
  const Value* bias = node.input(Linear::kBias);
  const bool constant =
      (bias == nullptr || bias->is_constant()) && HasConstantColumns(node) &&
      absl::c_all_of(WeightsOf(node), [](const Weight& w) { return w.value->is_constant(); });
  if (!plain) {
    why = absl::StrCat(node.description(), " has an activation or residual");
  } else if (!constant) {
    why = absl::StrCat("the weight or bias of ", node.description(), " is not constant");
  }
  return plain && constant;
}

bool LinearMerger::SharedElsewhere(const std::vector<Node*>& linears, std::string& why) const {
  // A layer with the same weights: each of them multiplies its input, too.
  const std::vector<Weight> weights = WeightsOf(linears);
  const auto multiplies = [](const Value* x) {
    return [x](const Weight& weight) {
      return absl::c_any_of(weight.value->consumers(), [x](const Node* other) {
        return IsLinear(*other) && other->input(Linear::kX) == x;
      });
    };
  };
  for (const Weight& weight : weights) {
    const std::string name = absl::StrCat("the weight ", Quoted(weight.value->name()));
    if (unmerged_.contains(weight.value)) {
      why = absl::StrCat(name, " is shared with projections that are not merged");
      return true;
    }
    for (const Node* other : weight.value->consumers()) {
      if (absl::c_linear_search(linears, other)) continue;
      if (IsLinear(*other) && absl::c_all_of(weights, multiplies(other->input(Linear::kX))))
        continue;
      why = absl::StrCat(name, " is shared with ", other->description(),
                         " and would have to be packed twice");
      return true;
    }
  }
  return false;
}

absl::StatusOr<int> LinearMerger::Merge(const std::vector<Node*>& linears, const Node& anchor) {
  const std::vector<Weight> weights = WeightsOf(linears);
  std::string why;
  if (SharedElsewhere(linears, why)) {
    for (const Weight& weight : weights) unmerged_.insert(weight.value);
    context_.Miss(anchor, why);
    return 0;
  }
  if (!FitTogether(linears)) return 0;
  Patch patch(context_);
  patch.Supersede(linears);
  Value* product = patch.Op(OpNameOf(*linears[0]), InputsOf(patch, linears, weights),
                            AttributesOf(weights), linears[0]->name());
  std::vector<int64_t> widths;
  widths.reserve(linears.size());
  for (const Node* linear : linears) widths.push_back(Columns(*linear));
  const std::vector<Value*> parts =
      patch.Ops("Split", static_cast<int>(linears.size()), {product, patch.Ints(widths)},
                {{"axis", int64_t{-1}}});
  for (size_t i = 0; i < linears.size(); ++i) patch.Replace(linears[i]->output(0), parts[i]);
  return patch.Apply();
}

}  // namespace attnrun
