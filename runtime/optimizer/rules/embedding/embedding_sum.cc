// SPDX-License-Identifier: Apache-2.0

// BERT-like models add rows of several embedding tables. One EmbeddingSum reads them without
// intermediate tensors:
//
//   Gather(words, ids)   Gather(types, type_ids)
//              \___ Add ___/
//                    |      Slice(positions, 0, S)
//                   Add ______/
//   -->
//   EmbeddingSum(words, ids, types, type_ids, positions)
//
// The terms may stand in any order. The tables are constants; all ids have one shape.

#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

// Models add fewer tables.
constexpr size_t kMaxTerms = 7;

// The terms of a sum.
class EmbeddingTerms {
 public:
  EmbeddingTerms(const std::vector<SymInt>& dims, Facts& facts) : dims_(dims), facts_(facts) {}

  // True if the value is a sum of such terms and nothing else.
  bool Split(Value* value) {
    Node* node = value->producer();
    if (node == nullptr || nodes_.size() > 2 * kMaxTerms) return false;
    if (IsOp(node, "Slice")) return SplitPositions(value, node);
    if (!HasResultsExtents(value)) return false;
    nodes_.push_back(node);
    if (IsOp(node, "Add")) return Split(node->input(0)) && Split(node->input(1));
    if (node->qualified_op_type() == "attnrun.EmbeddingSum") return SplitSum(*node);
    if (!IsOp(node, "Gather") || AttributeOr<int64_t>(*node, "axis", 0) != 0) return false;
    if (!IsTable(node->input(0)) || inputs_.size() >= 2 * kMaxTerms) return false;
    // Rows looked up by constant ids are a constant.
    if (node->input(1)->is_constant()) return false;
    inputs_.push_back(node->input(0));
    inputs_.push_back(node->input(1));
    return true;
  }

  const std::vector<Node*>& nodes() const { return nodes_; }
  std::vector<Value*> Inputs() const {
    std::vector<Value*> inputs = inputs_;
    if (positions_ != nullptr) inputs.push_back(positions_);
    return inputs;
  }

 private:
  bool HasResultsExtents(const Value* value) {
    const std::vector<SymInt>* dims = facts_.DimsOf(value);
    return dims != nullptr && *dims == dims_;
  }

  // Takes the terms of an EmbeddingSum that was formed before the remaining terms were recognized.
  bool SplitSum(const Node& sum) {
    const bool has_positions = sum.inputs().size() % 2 != 0;
    if (has_positions || inputs_.size() + sum.inputs().size() > 2 * kMaxTerms) return false;
    inputs_.insert(inputs_.end(), sum.inputs().begin(), sum.inputs().end());
    return true;
  }

  static bool IsTable(const Value* value) {
    return value->is_constant() && value->constant()->rank() == 2 &&
           value->constant()->type() == DataType::kFloat;
  }

  // Slice(table, 0, S), with as many rows as the sum has.
  bool SplitPositions(const Value* value, Node* slice) {
    constexpr int64_t kLeastRows = 2;
    if (positions_ != nullptr || !IsTable(slice->input(0))) return false;
    // A table of a single row would be added to all rows.
    if (slice->input(0)->constant()->dim(0) < kLeastRows) return false;
    if (KnownInts(slice->input(1), facts_) != std::vector<int64_t>{0}) return false;
    if (KnownInts(slice->input(3), facts_) != std::vector<int64_t>{0}) return false;
    if (slice->input(4) != nullptr || slice->input(2) == nullptr) return false;
    const auto& end = facts_.Of(slice->input(2)).contents;
    if (!end.has_value() || end->size() != 1 || (*end)[0] != dims_[dims_.size() - 2]) return false;
    if (ops::BroadcastDims(dims_, facts_.Of(value).dims) != dims_) return false;
    positions_ = slice->input(0);
    nodes_.push_back(slice);
    return true;
  }

  const std::vector<SymInt>& dims_;
  Facts& facts_;
  std::vector<Node*> nodes_;
  std::vector<Value*> inputs_;
  Value* positions_ = nullptr;
};

bool Propose(Facts& facts, Node* node, Patch& patch) {
  const std::vector<SymInt>* known = facts.DimsOf(node->output(0));
  if (known == nullptr || known->size() < 2) return false;
  const std::vector<SymInt> dims = *known;
  EmbeddingTerms terms(dims, facts);
  if (!terms.Split(node->output(0)) || terms.Inputs().size() < 3) return false;
  Value* sum = patch.Op("attnrun::EmbeddingSum", terms.Inputs(), {}, node->name());
  return patch.Substitute(terms.nodes(), node->output(0), sum) && patch.CanApply();
}

bool FuseEmbeddingSum(RuleContext& context, Node* node, Patch& patch) {
  // The last sum of a chain takes all terms.
  if (Node* next = OnlyReader(context.graph, node->output(0), "Add")) {
    Patch probe(context);
    if (Propose(context.facts, next, probe)) return false;
  }
  return Propose(context.facts, node, patch);
}

}  // namespace

extern const Rule kEmbeddingSum = {
    .name = "embedding_sum",
    .summary = "Word, type and position embeddings are looked up and added in one operator",
    .anchors = {"Add"},
    .propose = FuseEmbeddingSum};

}  // namespace attnrun::opt
