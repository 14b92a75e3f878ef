// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/quantization/qdq_operands.h"

#include "absl/algorithm/container.h"
#include "ops/interface/registry.h"
#include "ops/tensors/bytes.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rules/linear/linear_match.h"

namespace attnrun::opt {
namespace {

// With up to this many rows, sums of products of 8-bit integers less their zero points fit 32 bits.
constexpr int64_t kMostRows = INT32_MAX / (255 * 255);

// True if the node converts 8-bit integers to floats by one scale, or by one for each index of an
// axis.
bool IsDequantization(const Node* node, Facts& facts) {
  if (!IsOp(node, "DequantizeLinear")) return false;
  if (node->input(0) == nullptr || node->input(1) == nullptr) return false;
  const DataType type = facts.TypeOf(node->input(0));
  const Value* zero = node->input(2);
  return ops::IsByte(type) && (zero == nullptr || facts.TypeOf(zero) == type) &&
         AttributeOr<int64_t>(*node, "block_size", 0) == 0 &&
         facts.TypeOf(node->input(1)) == DataType::kFloat &&
         facts.TypeOf(node->output(0)) == DataType::kFloat;
}

bool HasConstantInputs(const Node& node) {
  return absl::c_all_of(
      node.inputs(), [](const Value* input) { return input == nullptr || input->is_constant(); });
}

bool IsNumber(const Value* value, Facts& facts) {
  const std::vector<SymInt>* dims = facts.DimsOf(value);
  if (dims == nullptr || dims->size() > 1) return false;
  return dims->empty() || (*dims)[0].is_constant(1);
}

// True if there is one scale, and one zero point, for the whole weight or for each index of the
// axis that counts columns.
bool HasPlainScales(const Node& dequantize, const LinearWeightParts& weight) {
  const Tensor& scale = *weight.scales->constant();
  if (weight.zero_points != nullptr && weight.zero_points->constant()->shape() != scale.shape()) {
    return false;
  }
  if (scale.num_elements() == 1) return scale.rank() <= 1;
  return scale.shape() == Shape{weight.Columns()} &&
         AxisOf(dequantize, weight.values->constant()->rank(), 1) == (weight.transposed ? 0 : 1);
}

// A constant weight, whose columns lie along its first axis if `transposed`, else the second.
std::optional<LinearWeightParts> ReadWeight(const Value* floats, bool transposed, Facts& facts) {
  const Node* node = floats->producer();
  if (!IsDequantization(node, facts) || !HasConstantInputs(*node)) return std::nullopt;
  const LinearWeightParts weight = {{node->input(0), node->input(1), node->input(2)}, transposed};
  const Tensor& values = *weight.values->constant();
  if (values.rank() < 2 || values.num_elements() == 0 || !HasPlainScales(*node, weight)) {
    return std::nullopt;
  }
  const int64_t rows = values.num_elements() / weight.Columns();
  return rows <= kMostRows ? std::optional(weight) : std::nullopt;
}

// The weight of a Conv of one group. With several, one for each channel above all, floats are
// faster.
std::optional<LinearWeightParts> ReadConvWeight(const Node& conv, Facts& facts) {
  if (AttributeOr<int64_t>(conv, "group", 1) != 1) return std::nullopt;
  const auto weight = ReadWeight(conv.input(1), /*transposed=*/true, facts);
  return weight.has_value() && weight->values->constant()->rank() >= 3 ? weight : std::nullopt;
}

// The matrix of a MatMul or Gemm, which may be transposed before the product.
std::optional<LinearWeightParts> ReadMatrix(const Node& product, Facts& facts) {
  const Value* floats = product.input(1);
  bool transposed = AttributeOr<int64_t>(product, "transB", 0) != 0;
  if (IsOp(floats->producer(), "Transpose") &&
      PermutationOf(*floats->producer(), 2) == SwapOfLastTwo(2)) {
    transposed = !transposed;
    floats = floats->producer()->input(0);
  }
  const auto weight = ReadWeight(floats, transposed, facts);
  return weight.has_value() && weight->values->constant()->rank() == 2 ? weight : std::nullopt;
}

}  // namespace

std::optional<QdqOperand> ReadQdqOperand(Value* floats, Facts& facts) {
  QdqOperand operand;
  const Node* node = floats->producer();
  for (; node != nullptr && ops::TraitsOf(*node).rearranges; node = node->input(0)->producer()) {
    operand.views.push_back(node);
  }
  if (!IsDequantization(node, facts)) return std::nullopt;
  operand.value = node->input(0);
  operand.scale = node->input(1);
  operand.zero_point = node->input(2);
  if (operand.value->is_constant() || !IsNumber(operand.scale, facts)) return std::nullopt;
  if (operand.zero_point != nullptr && !IsNumber(operand.zero_point, facts)) return std::nullopt;
  return operand;
}

Value* Arranged(Patch& patch, const QdqOperand& operand) {
  Value* value = operand.value;
  for (auto view = operand.views.rbegin(); view != operand.views.rend(); ++view) {
    std::vector<Value*> inputs = (*view)->inputs();
    inputs[0] = value;
    value = patch.Again(**view, inputs, (*view)->attributes())[0];
  }
  return value;
}

std::optional<QdqProduct> ReadQdqProduct(const Node& product, Facts& facts) {
  const bool is_conv = IsOp(&product, "Conv");
  const bool is_plain =
      is_conv || IsOp(&product, "MatMul") || (IsOp(&product, "Gemm") && IsPlainGemm(product));
  if (!is_plain || product.input(0) == nullptr || product.input(1) == nullptr) return std::nullopt;
  const auto weight = is_conv ? ReadConvWeight(product, facts) : ReadMatrix(product, facts);
  if (!weight.has_value()) return std::nullopt;
  auto x = ReadQdqOperand(product.input(0), facts);
  if (!x.has_value()) return std::nullopt;
  return QdqProduct{*std::move(x), *weight};
}

bool ReadsDequantizedTable(const Node& node, Facts& facts) {
  if (!IsOp(&node, "Gather") || node.input(0) == nullptr) return false;
  const Node* dequantize = node.input(0)->producer();
  if (!IsDequantization(dequantize, facts) || !HasConstantInputs(*dequantize)) return false;
  const Value* zero = dequantize->input(2);
  const Tensor& scale = *dequantize->input(1)->constant();
  if (zero != nullptr && zero->constant()->shape() != scale.shape()) return false;
  if (scale.rank() > 1 || scale.num_elements() == 1) return scale.rank() <= 1;
  // A scale for each of the rows that are looked up.
  const int rank = dequantize->input(0)->constant()->rank();
  const auto axis = AxisOf(node, rank);
  return axis.has_value() && AxisOf(*dequantize, rank, 1) == axis;
}

bool IsWeightOfIntegers(const Node& dequantize, const Graph& graph, Facts& facts) {
  const auto multiplies_only = [&](const Value* floats, const auto& self) -> bool {
    if (floats->consumers().empty() || graph.IsOutput(floats)) return false;
    return absl::c_all_of(floats->consumers(), [&](const Node* reader) {
      if (IsOp(reader, "Transpose")) return self(reader->output(0), self);
      if (ReadsDequantizedTable(*reader, facts)) return true;
      const auto product = ReadQdqProduct(*reader, facts);
      return product.has_value() && product->weight.values == dequantize.input(0);
    });
  };
  return IsDequantization(&dequantize, facts) &&
         multiplies_only(dequantize.output(0), multiplies_only);
}

}  // namespace attnrun::opt
