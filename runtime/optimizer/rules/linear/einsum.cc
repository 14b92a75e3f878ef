// SPDX-License-Identifier: Apache-2.0

// Some models write products as Einsums. Those of two operands become products of matrices, which
// the other rules know. With a weight, here [D,N,H], in any order of its axes:
//
//   x [B,S,D]                            x [B,S,D]
//       |                                    |
//   Einsum("bsd,dnh->bsnh", w)           Linear(w [D,N*H], b [N*H])
//       |                      ->            |
//   Add(b [N,H])                         Reshape [B,S,N,H]
//       |                                    |
//   y [B,S,N,H]                          y [B,S,N,H]
//
// With two computed operands:
//
//   q [B,S,N,H]   k [B,T,N,H]            q [B,S,N,H]         k [B,T,N,H]
//           \      /                           |                   |
//    Einsum("bsnh,btnh->bnst")     ->    Transpose(0,2,1,3)  Transpose(0,2,3,1)
//              |                                        \     /
//          y [B,N,S,T]                                  MatMul
//
// Without a sum it is a product of elements, which broadcasts as the Einsum does:
//
//   Einsum("blq,blk->blqk", x, y)  ->  Mul(Unsqueeze(x, -1), Unsqueeze(y, -2))
//
// An Einsum of more operands becomes one of the first two, and one of their product and the others.
//
// Labels that share an axis of a matrix are merged by Reshape. Left as they are: labels that an
// operand repeats or sums by itself, and extents that might be broadcast. Exceptions to the last
// are samples, which MatMul broadcasts, and the keys of an attention, whose number is the same in
// its two products.

#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/einsum/contraction.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/product_search.h"
#include "optimizer/rewrite/reshape.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/linear/linear_parts.h"

namespace attnrun::opt {
namespace {

bool Contains(const ops::Labels& labels, ops::Label label) {
  return absl::c_linear_search(labels, label);
}

ops::Labels Joined(const std::vector<ops::Labels>& groups) {
  ops::Labels joined;
  for (const ops::Labels& group : groups) joined.insert(joined.end(), group.begin(), group.end());
  return joined;
}

std::vector<ops::Labels> OneByOne(const ops::Labels& labels) {
  std::vector<ops::Labels> groups;
  for (const ops::Label label : labels) groups.push_back({label});
  return groups;
}

int64_t IndexOf(const ops::Labels& labels, ops::Label label) {
  return absl::c_find(labels, label) - labels.begin();
}

std::vector<int64_t> Permutation(const ops::Labels& from, const ops::Labels& to) {
  std::vector<int64_t> permutation;
  for (const ops::Label label : to) permutation.push_back(IndexOf(from, label));
  return permutation;
}

bool HasRepeats(const ops::Labels& labels) {
  return absl::c_any_of(labels, [&](ops::Label label) { return absl::c_count(labels, label) > 1; });
}

// The rewrite of one Einsum of two operands.
class EinsumRewrite {
 public:
  EinsumRewrite(RuleContext& context, Node* node, Patch& patch)
      : context_(context), facts_(context.facts), node_(node), patch_(patch) {}

  bool Propose() {
    if (!ReadLabels()) return false;
    if (labels_.depth.empty()) return patch_.Substitute(node_, "Mul", {Spread(0), Spread(1)});
    if (!CheckExtents()) return false;
    patch_.Supersede({node_});
    result_ = node_->output(0);
    for (const int side : {1, 0}) {
      if (IsWeight(side)) return ProposeLinear(side);
    }
    return ProposeMatMul();
  }

 private:
  // True if the equation is a product of elements, of matrices or of stacks of matrices.
  bool ReadLabels() {
    if (node_->inputs().size() != 2) return false;
    std::vector<Shape> shapes;
    for (const Value* input : node_->inputs()) {
      const std::vector<SymInt>* dims = facts_.DimsOf(input);
      if (dims == nullptr) return false;
      // Labels depend on ranks alone, so any extents will do.
      shapes.emplace_back(dims->size(), 1);
      dims_.push_back(*dims);
    }
    auto shape = ops::ResolveEinsum(AttributeOr<std::string>(*node_, "equation", ""), shapes);
    if (!shape.ok() || absl::c_any_of(shape->operands, HasRepeats)) return false;
    auto contraction = ops::Contraction::Of(*shape);
    if (!contraction.has_value()) return false;
    operands_ = std::move(shape->operands);
    output_ = std::move(shape->output);
    labels_ = *std::move(contraction);
    return true;
  }

  // The operand with the axes of the result.
  Value* Spread(int operand) {
    const ops::Labels& labels = operands_[operand];
    ops::Labels kept;
    std::vector<int64_t> missing;
    for (size_t axis = 0; axis < output_.size(); ++axis) {
      if (Contains(labels, output_[axis])) {
        kept.push_back(output_[axis]);
      } else {
        missing.push_back(static_cast<int64_t>(axis));
      }
    }
    Value* const value = patch_.Transpose(node_->input(operand), Permutation(labels, kept));
    if (missing.empty()) return value;
    return patch_.Op("Unsqueeze", {value, patch_.Ints(missing)});
  }

  // Einsum broadcasts an extent of 1 on any axis; of the operators that replace it, only a product
  // of stacks does so, on samples. So the operands' extents must be known to be equal elsewhere.
  bool CheckExtents() {
    for (const ops::Label label : operands_[0]) {
      if (!Contains(operands_[1], label) || Extent(0, label) == Extent(1, label)) continue;
      if (MayDiffer(label)) continue;
      context_.Miss(*node_, absl::StrCat("an axis has extent ", Extent(0, label).ToString(),
                                         " in one operand and ", Extent(1, label).ToString(),
                                         " in the other"));
      return false;
    }
    return true;
  }

  // True if the operands' extents on an axis need not be known to be equal: on the axis of samples,
  // where no other label shares it, and on the summed axis of an attention, unless both are fixed
  // numbers.
  bool MayDiffer(ops::Label label) const {
    if (!HasAxesOfTheirOwn()) return false;
    if (Contains(labels_.batch, label)) return true;
    const bool numbers =
        Extent(0, label).constant().has_value() && Extent(1, label).constant().has_value();
    return !numbers && IsOfAttention();
  }

  // True if each axis of the matrices is a single label.
  bool HasAxesOfTheirOwn() const {
    return labels_.rows.size() == 1 && labels_.columns.size() == 1 && labels_.depth.size() == 1;
  }

  const SymInt& Extent(int operand, ops::Label label) const {
    return dims_[operand][IndexOf(operands_[operand], label)];
  }
  SymInt Extent(ops::Label label) const {
    return Extent(Contains(operands_[0], label) ? 0 : 1, label);
  }

  SymInt Size(int operand, const ops::Labels& labels) const {
    SymInt size(1);
    for (const ops::Label label : labels) size = size * Extent(operand, label);
    return size;
  }

  // True if the operand is one constant matrix for all samples.
  bool IsWeight(int side) const {
    const Value* weight = node_->input(side);
    return labels_.batch.empty() && weight->is_constant() &&
           !node_->input(1 - side)->is_constant() && IsFloatingPoint(weight->constant()->type());
  }

  bool ProposeLinear(int side) {
    const int x = 1 - side;
    const ops::Labels& rows = x == labels_.left ? labels_.rows : labels_.columns;
    const ops::Labels& columns = x == labels_.left ? labels_.columns : labels_.rows;
    ops::Labels depth = labels_.depth;
    absl::c_sort(depth, [&](ops::Label a, ops::Label b) {
      return IndexOf(operands_[x], a) < IndexOf(operands_[x], b);
    });
    std::vector<ops::Labels> axes = OneByOne(rows);
    axes.push_back(depth);
    LinearParts parts;
    parts.x = Arranged(x, axes);
    parts.weights = {Matrix(side, depth, columns)};
    parts.bias = TakeBias(columns);
    if (parts.x == nullptr || parts.weights[0].values == nullptr) return false;
    Value* y = parts.Write(patch_, node_->name());
    return Finish(y, Joined({rows, columns}));
  }

  // The weight as [depth, columns] or [columns, depth], without a copy if possible.
  LinearWeightParts Matrix(int side, const ops::Labels& depth, const ops::Labels& columns) {
    Value* weight = node_->input(side);
    const ops::Labels& stored = operands_[side];
    const bool transposed = stored == Joined({columns, depth});
    const Tensor& data = *weight->constant();
    const auto size = [&](const ops::Labels& labels) {
      int64_t product = 1;
      for (const ops::Label label : labels) product *= data.shape()[IndexOf(stored, label)];
      return product;
    };
    Shape shape = {size(depth), size(columns)};
    if (transposed) std::swap(shape[0], shape[1]);
    if (transposed || stored == Joined({depth, columns})) {
      if (data.shape() != shape) weight = patch_.Constant(weight->name(), data.Reshaped(shape));
      return {{weight}, transposed};
    }
    const Shape dense = DenseStrides(data.shape());
    Shape extents;
    Shape strides;
    for (const int64_t axis : Permutation(stored, Joined({depth, columns}))) {
      extents.push_back(data.shape()[axis]);
      strides.push_back(dense[axis]);
    }
    auto copy = data.View(extents, strides, 0).Dense();
    return {{patch_.Constant(weight->name(), copy.ok() ? copy->Reshaped(shape) : copy)}};
  }

  // The bias, of one axis, of an Add that is the product's only reader; null if there is none.
  Value* TakeBias(const ops::Labels& columns) {
    Node* add = OnlyReader(context_.graph, result_, "Add");
    if (add == nullptr) return nullptr;
    Value* bias = OtherOperand(*add, result_);
    if (!bias->is_constant() || !IsBias(*bias->constant(), columns)) return nullptr;
    patch_.Supersede({add});
    result_ = add->output(0);
    return Flat(patch_, bias);
  }

  // True if the tensor has one element for each column and is the same for all rows.
  bool IsBias(const Tensor& bias, const ops::Labels& columns) const {
    const size_t rank = output_.size();
    if (bias.shape().size() > rank) return false;
    const size_t missing = rank - bias.shape().size();
    for (size_t axis = 0; axis < rank; ++axis) {
      const int64_t extent = axis < missing ? 1 : bias.shape()[axis - missing];
      const SymInt wanted = Contains(columns, output_[axis]) ? Extent(output_[axis]) : SymInt(1);
      if (!wanted.is_constant(extent)) return false;
    }
    return true;
  }

  // True if this is one of the two products of an attention, or a product that is added to its
  // scores.
  bool IsOfAttention() const { return WeighsValues() || LeadsToAttention(node_->output(0)); }

  // True if this is the second product, whose left operand comes from a Softmax.
  bool WeighsValues() const { return ComesFromSoftmax(node_->input(labels_.left)); }

  // The row labels in the order that the scores have. Where there are two, the first is heads that
  // share keys and values, as in "bhid,bjd->bhij" or "bqghd,bgkd->bghqk".
  ops::Labels RowsOfScores() const {
    ops::Labels rows = labels_.rows;
    const ops::Labels& scores = WeighsValues() ? operands_[labels_.left] : output_;
    absl::c_sort(
        rows, [&](ops::Label a, ops::Label b) { return IndexOf(scores, a) < IndexOf(scores, b); });
    return rows;
  }

  bool ProposeMatMul() {
    std::vector<ops::Labels> left = OneByOne(labels_.batch);
    std::vector<ops::Labels> right = left;
    // Heads that share keys and values keep an axis of their own.
    const bool share = labels_.rows.size() == 2 && IsOfAttention();
    const ops::Labels rows = share ? RowsOfScores() : labels_.rows;
    if (share) {
      left.push_back({rows[0]});
      right.emplace_back();
    }
    left.push_back(share ? ops::Labels{rows[1]} : rows);
    left.push_back(labels_.depth);
    right.insert(right.end(), {labels_.depth, labels_.columns});
    const std::vector<Value*> inputs = {Arranged(labels_.left, left),
                                        Arranged(labels_.right, right)};
    if (absl::c_linear_search(inputs, nullptr)) return false;
    Value* y = patch_.Op("MatMul", inputs, {}, node_->name());
    return Finish(y, Joined({labels_.batch, rows, labels_.columns}));
  }

  // The operand with one axis for each group of labels, in this order.
  Value* Arranged(int operand, const std::vector<ops::Labels>& axes) {
    Value* value =
        patch_.Transpose(node_->input(operand), Permutation(operands_[operand], Joined(axes)));
    std::vector<SymInt> extents;
    extents.reserve(axes.size());
    for (const ops::Labels& group : axes) extents.push_back(Size(operand, group));
    return Reshaped(value, extents);
  }

  // Splits or drops the last axes of `y`, which stand for several labels or for none, and replaces
  // the Einsum's result.
  bool Finish(Value* y, const ops::Labels& labels) {
    std::vector<SymInt> extents;
    for (const ops::Label label : labels) extents.push_back(Extent(label));
    Value* shaped = HasAxesOfTheirOwn() ? y : Reshaped(y, extents);
    return patch_.Replace(result_, patch_.Transpose(shaped, Permutation(labels, output_)));
  }

  Value* Reshaped(Value* value, absl::Span<const SymInt> extents) {
    return ReshapeTo(patch_, value, extents, node_->inputs());
  }

  RuleContext& context_;
  Facts& facts_;
  Node* const node_;
  Patch& patch_;
  std::vector<std::vector<SymInt>> dims_;
  std::vector<ops::Labels> operands_;
  ops::Labels output_;
  ops::Contraction labels_ = {};
  // The value that the rewrite replaces.
  Value* result_ = nullptr;
};

// Rewrites an Einsum of one operand, which sums over labels and transposes, if it repeats none.
bool RewriteSum(RuleContext& context, Node* node, Patch& patch) {
  const int rank = context.facts.RankOf(node->input(0));
  if (rank < 0) return false;
  const auto shape =
      ops::ResolveEinsum(AttributeOr<std::string>(*node, "equation", ""), {Shape(rank, 1)});
  if (!shape.ok() || HasRepeats(shape->operands[0])) return false;
  ops::Labels labels = shape->operands[0];
  std::vector<int64_t> summed;
  for (size_t i = labels.size(); i-- > 0;) {
    if (Contains(shape->output, labels[i])) continue;
    summed.insert(summed.begin(), static_cast<int64_t>(i));
    labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(i));
  }
  Value* y = node->input(0);
  if (!summed.empty()) {
    y = patch.Op("ReduceSum", {y, patch.Ints(summed)}, {{"keepdims", int64_t{0}}}, node->name());
  }
  y = patch.Transpose(y, Permutation(labels, shape->output));
  return y != node->input(0) && patch.Substitute(node, y);
}

// Labels as an equation writes them: the axes of "..." by letters that `equation` lacks.
class Spelling {
 public:
  explicit Spelling(const std::string& equation) {
    for (char letter = 'A'; letter <= 'z'; ++letter) {
      const bool is_letter = absl::ascii_isalpha(static_cast<unsigned char>(letter));
      if (is_letter && !absl::StrContains(equation, letter)) unused_ += letter;
    }
  }

  // nullopt if there are too few letters.
  std::optional<std::string> Of(const ops::Labels& labels) const {
    std::string letters;
    for (const ops::Label label : labels) {
      const auto axis = static_cast<size_t>(label - ops::kEllipsis);
      const bool is_letter = label < ops::kEllipsis;
      if (!is_letter && axis >= unused_.size()) return std::nullopt;
      letters += is_letter ? static_cast<char>(label) : unused_[axis];
    }
    return letters;
  }

 private:
  std::string unused_;
};

// Rewrites an Einsum of several operands as one of the first two, which keeps the labels that the
// others or the result have, and one of its result and the others.
bool MultiplyFirst(RuleContext& context, Node* node, Patch& patch) {
  std::vector<Shape> shapes;
  for (const Value* input : node->inputs()) {
    const int rank = context.facts.RankOf(input);
    if (rank < 0) return false;
    shapes.emplace_back(rank, 1);
  }
  const auto written = AttributeOr<std::string>(*node, "equation", "");
  const auto shape = ops::ResolveEinsum(written, shapes);
  if (!shape.ok()) return false;
  const Spelling spelling(written);
  std::vector<std::string> operands;
  for (const ops::Labels& labels : shape->operands) {
    const auto letters = spelling.Of(labels);
    if (!letters.has_value()) return false;
    operands.push_back(*letters);
  }
  const std::string result = spelling.Of(shape->output).value_or("");
  const std::string others = absl::StrJoin(absl::MakeConstSpan(operands).subspan(2), ",");
  std::string kept;
  for (const char label : operands[0] + operands[1]) {
    const bool is_read = absl::StrContains(others + result, label);
    if (is_read && !absl::StrContains(kept, label)) kept += label;
  }
  const auto equation = [](const auto&... parts) {
    return AttributeMap{{"equation", absl::StrCat(parts...)}};
  };
  std::vector<Value*> inputs = node->inputs();
  Value* product = patch.Op("Einsum", {inputs[0], inputs[1]},
                            equation(operands[0], ",", operands[1], "->", kept), node->name());
  inputs.erase(inputs.begin());
  inputs[0] = product;
  return patch.Substitute(node, "Einsum", std::move(inputs),
                          equation(kept, ",", others, "->", result));
}

bool RewriteEinsums(RuleContext& context, Node* node, Patch& patch) {
  if (node->inputs().size() == 1) return RewriteSum(context, node, patch);
  if (node->inputs().size() > 2) return MultiplyFirst(context, node, patch);
  return EinsumRewrite(context, node, patch).Propose();
}

}  // namespace

extern const Rule kEinsum = {
    .name = "einsum",
    .summary =
        "Einsum becomes Transpose, Reshape and MatMul, Mul without a sum, or ReduceSum for one "
        "operand",
    .anchors = {"Einsum"},
    .propose = RewriteEinsums};

}  // namespace attnrun::opt
