// SPDX-License-Identifier: Apache-2.0

// A product of matrices may be written as a broadcast product and a sum:
//
//   q [B,N,S,1,H]   k [B,N,1,T,H]         q [B,N,S,H]   k [B,N,T,H]
//              \     /                               \   /
//                Mul                ->        Einsum("abce,abde->abcd")
//                 |                                  |
//       ReduceSum(last axis)                    y [B,N,S,T]
//                 |
//            y [B,N,S,T]
//
// Applies where each operand has an axis along which the other one is broadcast: otherwise nothing
// is multiplied more than once, and the sum is no product of matrices. In an attention one axis is
// enough: there may be a single query.

#include <optional>
#include <string>
#include <vector>

#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/product_search.h"
#include "optimizer/analysis/reduction.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

// The labels of an operand's axes that are longer than 1, and the places of the other axes.
struct Operand {
  std::string labels;
  std::vector<int64_t> ones;
};

// The labels 'a', 'b', ... are those of the axes of the product, which has `rank` of them. nullopt
// if an extent may be that of the product or 1.
std::optional<Operand> Labeled(const std::vector<SymInt>& dims,
                               const std::vector<SymInt>& product) {
  Operand operand;
  const size_t missing = product.size() - dims.size();
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].is_constant(1)) {
      operand.ones.push_back(static_cast<int64_t>(i));
    } else if (dims[i] == product[missing + i]) {
      operand.labels.push_back(static_cast<char>('a' + missing + i));
    } else {
      return std::nullopt;
    }
  }
  return operand;
}

// True if `labels` has one that `others` lacks.
bool HasOwn(const std::string& labels, const std::string& others) {
  return labels.find_first_not_of(others) != std::string::npos;
}

Value* WithoutOnes(Value* value, const Operand& operand, Patch& patch) {
  if (operand.ones.empty()) return value;
  return patch.Op("Squeeze", {value, patch.Ints(operand.ones)});
}

// True if the sum may be a score, or of values that probabilities weigh.
bool IsOfAttention(const Node& mul, const Node& sum) {
  return ComesFromSoftmax(mul.input(0)) || ComesFromSoftmax(mul.input(1)) ||
         LeadsToProduct(sum.output(0));
}

bool FuseSum(RuleContext& context, Node* sum, Patch& patch) {
  Facts& facts = context.facts;
  Node* mul = ProducerOf(sum->input(0), "Mul");
  const std::vector<SymInt>* dims = facts.DimsOf(sum->input(0));
  if (mul == nullptr || dims == nullptr || dims->size() > 26) return false;
  if (OnlyReader(context.graph, sum->input(0)) != sum) return false;
  const std::vector<SymInt>* left = facts.DimsOf(mul->input(0));
  const std::vector<SymInt>* right = facts.DimsOf(mul->input(1));
  const auto axis = OnlyAxis(*sum, static_cast<int>(dims->size()), facts);
  if (left == nullptr || right == nullptr || !axis.has_value()) return false;
  const auto a = Labeled(*left, *dims);
  const auto b = Labeled(*right, *dims);
  if (!a.has_value() || !b.has_value()) return false;
  const auto label = static_cast<char>('a' + *axis);
  const bool summed =
      a->labels.find(label) != std::string::npos && b->labels.find(label) != std::string::npos;
  const int own = (HasOwn(a->labels, b->labels) ? 1 : 0) + (HasOwn(b->labels, a->labels) ? 1 : 0);
  if (!summed || own < (IsOfAttention(*mul, *sum) ? 1 : 2)) return false;
  std::string result;
  std::vector<int64_t> ones;
  const bool keeps = AttributeOr<int64_t>(*sum, "keepdims", 1) != 0;
  for (size_t i = 0; i < dims->size(); ++i) {
    const bool is_summed = static_cast<int>(i) == *axis;
    if (!is_summed && !(*dims)[i].is_constant(1)) {
      result.push_back(static_cast<char>('a' + i));
    } else if (!is_summed || keeps) {
      ones.push_back(static_cast<int64_t>(i) - (!keeps && static_cast<int>(i) > *axis ? 1 : 0));
    }
  }
  patch.Supersede({mul, sum});
  Value* y = patch.Op(
      "Einsum", {WithoutOnes(mul->input(0), *a, patch), WithoutOnes(mul->input(1), *b, patch)},
      {{"equation", a->labels + "," + b->labels + "->" + result}}, sum->name());
  if (!ones.empty()) y = patch.Op("Unsqueeze", {y, patch.Ints(ones)});
  return patch.Replace(sum->output(0), y);
}

}  // namespace

extern const Rule kSummedProducts = {
    .name = "summed_products",
    .summary = "A broadcast product that is summed over an axis becomes a product of matrices",
    .anchors = {"ReduceSum"},
    .propose = FuseSum};

}  // namespace attnrun::opt
