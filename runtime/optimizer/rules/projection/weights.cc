// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/projection/weights.h"

#include <array>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ops/linear/int8_linear.h"
#include "ops/linear/linear.h"
#include "ops/linear/nbit_linear.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rules/projection/join_columns.h"

namespace attnrun::opt {
namespace {

bool IsQuantized(const Node& linear) { return linear.op_type() == "QuantizedLinear"; }
bool IsBlockQuantized(const Node& linear) { return linear.op_type() == "BlockQuantizedLinear"; }

std::vector<LinearWeight> CodesOf(const Node& node) {
  std::vector<LinearWeight> weights;
  for (int i = 0; i < ops::NBitLinear::NumWeights(node.inputs().size()); ++i) {
    const auto [codes, scales, zero_points] = ops::NBitLinear::InputsOf(i);
    weights.push_back({node.input(codes), true, node.input(scales), node.input(zero_points)});
  }
  return weights;
}

// The format that all codes of one node share: K, bits and the size of blocks.
std::array<int64_t, 3> FormatOf(const Node& node) {
  return {AttributeOr<int64_t>(node, "K", 0), AttributeOr<int64_t>(node, "bits", 4),
          AttributeOr<int64_t>(node, "block_size", 0)};
}

// The number of rows, K.
int64_t Rows(const LinearWeight& weight) {
  return weight.value->constant()->dim(weight.transposed ? 1 : 0);
}

// True if all nodes multiply the same numbers; integers must also have the same scale and zero
// point.
bool SameInput(const std::vector<Node*>& linears) {
  const Node& first = *linears[0];
  return absl::c_all_of(linears, [&](const Node* linear) {
    if (linear->op_type() != first.op_type() || linear->input(0) != first.input(0)) return false;
    return !IsQuantized(first) ||
           (linear->input(ops::Int8Linear::kXScale) == first.input(ops::Int8Linear::kXScale) &&
            linear->input(ops::Int8Linear::kXZeroPoint) ==
                first.input(ops::Int8Linear::kXZeroPoint));
  });
}

// The attributes that describe the format of the weights.
AttributeMap AttributesOf(const std::vector<Node*>& linears,
                          const std::vector<LinearWeight>& weights) {
  if (IsBlockQuantized(*linears[0])) return linears[0]->attributes();
  std::vector<int64_t> transposed;
  transposed.reserve(weights.size());
  for (const LinearWeight& weight : weights) transposed.push_back(weight.transposed ? 1 : 0);
  if (absl::c_count(transposed, 1) == 0) return {};
  return {{ops::Linear::kTransposed, transposed}};
}

// Sets the scales and zero points of X and of the weights among a QuantizedLinear's inputs.
void AddQuantization(Patch& patch, const std::vector<Node*>& linears, std::vector<Value*>& inputs) {
  using Q = ops::Int8Linear;
  inputs.resize(Q::kMoreWeights, nullptr);
  inputs[Q::kXScale] = linears[0]->input(Q::kXScale);
  inputs[Q::kXZeroPoint] = linears[0]->input(Q::kXZeroPoint);
  inputs[Q::kWeightScale] = JoinedColumns(patch, linears, Q::kWeightScale, "scale");
  inputs[Q::kWeightZeroPoint] = JoinedColumns(patch, linears, Q::kWeightZeroPoint, "zero_point");
}

void AddCodes(const std::vector<LinearWeight>& weights, std::vector<Value*>& inputs) {
  using B = ops::NBitLinear;
  inputs.resize(B::InputsOf(static_cast<int>(weights.size())).codes, nullptr);
  for (size_t i = 0; i < weights.size(); ++i) {
    const auto [codes, scales, zero_points] = B::InputsOf(static_cast<int>(i));
    inputs[codes] = weights[i].value;
    inputs[scales] = weights[i].scales;
    inputs[zero_points] = weights[i].zero_points;
  }
}

}  // namespace

int64_t LinearWeight::Columns() const { return value->constant()->dim(transposed ? 0 : 1); }

std::vector<LinearWeight> WeightsOf(const Node& node) {
  if (IsBlockQuantized(node)) return CodesOf(node);
  std::vector<LinearWeight> weights;
  if (IsQuantized(node)) {
    for (int i = 0; i < ops::Int8Linear::NumWeights(node.inputs().size()); ++i) {
      weights.push_back({node.input(ops::Int8Linear::WeightInput(i))});
    }
    return weights;
  }
  ops::AttributeReader attributes(node, node.opset());
  const ops::Linear linear(attributes);
  for (int i = 0; i < ops::Linear::NumWeights(node.inputs().size()); ++i) {
    weights.push_back({node.input(ops::Linear::WeightInput(i)), linear.is_transposed(i)});
  }
  return weights;
}

std::vector<LinearWeight> WeightsOf(const std::vector<Node*>& linears) {
  std::vector<LinearWeight> all;
  for (const Node* linear : linears) {
    const std::vector<LinearWeight> weights = WeightsOf(*linear);
    all.insert(all.end(), weights.begin(), weights.end());
  }
  return all;
}

int64_t Columns(const Node& linear) {
  int64_t columns = 0;
  for (const LinearWeight& weight : WeightsOf(linear)) columns += weight.Columns();
  return columns;
}

bool HasConstantWeights(const Node& linear) {
  std::vector<Value*> parts;
  for (const LinearWeight& weight : WeightsOf(linear)) {
    for (Value* part : weight.Parts()) parts.push_back(part);
  }
  if (IsQuantized(linear)) {
    parts.push_back(linear.input(ops::Int8Linear::kWeightScale));
    parts.push_back(linear.input(ops::Int8Linear::kWeightZeroPoint));
  }
  return absl::c_all_of(parts,
                        [](const Value* part) { return part == nullptr || part->is_constant(); });
}

bool CanStandSideBySide(const std::vector<Node*>& linears) {
  if (!SameInput(linears)) return false;
  if (IsBlockQuantized(*linears[0])) {
    return absl::c_all_of(
        linears, [&](const Node* linear) { return FormatOf(*linear) == FormatOf(*linears[0]); });
  }
  const std::vector<LinearWeight> weights = WeightsOf(linears);
  const DataType type = weights[0].value->constant()->type();
  return absl::c_all_of(weights, [&](const LinearWeight& weight) {
    return Rows(weight) == Rows(weights[0]) && weight.value->constant()->type() == type;
  });
}

Value* SideBySide(Patch& patch, const std::vector<Node*>& linears, Value* bias) {
  const std::vector<LinearWeight> weights = WeightsOf(linears);
  std::vector<Value*> inputs(ops::Linear::kMoreWeights, nullptr);
  inputs[ops::Linear::kX] = linears[0]->input(ops::Linear::kX);
  inputs[ops::Linear::kWeight] = weights[0].value;
  inputs[ops::Linear::kBias] = bias;
  if (IsBlockQuantized(*linears[0])) {
    AddCodes(weights, inputs);
  } else {
    if (IsQuantized(*linears[0])) AddQuantization(patch, linears, inputs);
    for (size_t i = 1; i < weights.size(); ++i) inputs.push_back(weights[i].value);
  }
  return patch.Op(OpNameOf(*linears[0]), inputs, AttributesOf(linears, weights),
                  linears[0]->name());
}

Value* JoinedColumns(Patch& patch, const std::vector<Node*>& linears, int input,
                     absl::string_view name) {
  std::vector<ColumnConstant> parts;
  DataType type = DataType::kUndefined;
  for (const Node* linear : linears) {
    const Value* value = linear->input(input);
    parts.push_back({value == nullptr ? nullptr : value->constant(), Columns(*linear)});
    if (value != nullptr) type = value->constant()->type();
  }
  if (type == DataType::kUndefined) return nullptr;
  const std::string& weight = linears[0]->input(ops::Linear::kWeight)->name();
  return patch.Constant(absl::StrCat(weight, "/merged_", name), JoinColumns(parts, type));
}

}  // namespace attnrun::opt
