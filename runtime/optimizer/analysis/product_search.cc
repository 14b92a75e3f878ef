// SPDX-License-Identifier: Apache-2.0
#include "optimizer/analysis/product_search.h"

#include "absl/algorithm/container.h"
#include "core/hash_map.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"

namespace attnrun::opt {
namespace {

bool IsProductOfComputed(const Node& node) {
  return ops::TraitsOf(node).multiplies && node.input(1) != nullptr &&
         !node.input(0)->is_constant() && !node.input(1)->is_constant();
}

// True if the value is such a product, or made of one by operators on elements and views.
bool MadeOfProduct(const Value* value, HashSet<const Value*>& visited) {
  constexpr size_t kMostVisited = 64;
  const Node* node = value == nullptr ? nullptr : value->producer();
  if (node == nullptr || !node->domain().empty()) return false;
  if (visited.size() == kMostVisited || !visited.insert(value).second) return false;
  if (IsProductOfComputed(*node)) return true;
  const ops::OpTraits& traits = ops::TraitsOf(*node);
  if (!traits.elementwise && !traits.moves_elements) return false;
  return absl::c_any_of(node->inputs(),
                        [&](const Value* input) { return MadeOfProduct(input, visited); });
}

class ProductSearch {
 public:
  explicit ProductSearch(bool fused_counts) : fused_counts_(fused_counts) {}

  bool Leads(const Value* value, int depth = 0) {
    constexpr int kMaxForward = 12;
    if (depth > kMaxForward || !visited_.insert(value).second) return false;
    return absl::c_any_of(value->consumers(), [&](const Node* node) {
      if (IsFusedAttention(*node)) return fused_counts_;
      if (!node->domain().empty()) return false;
      // The standard's Attention contains two products.
      if (IsProductOfComputed(*node) || node->op_type() == "Attention") return true;
      if (!IsPassedThrough(*node) && node->op_type() != "Softmax") return false;
      return absl::c_any_of(node->outputs(), [&](const Value* output) {
        return output != nullptr && Leads(output, depth + 1);
      });
    });
  }

 private:
  const bool fused_counts_;
  HashSet<const Value*> visited_;
};

}  // namespace

bool IsPassedThrough(const Node& node) {
  const ops::OpTraits& traits = ops::TraitsOf(node);
  return traits.elementwise || traits.moves_elements || traits.assembles || traits.works_on_rows ||
         traits.rescales;
}

bool LeadsToProduct(const Value* value) {
  return ProductSearch(/*fused_counts=*/false).Leads(value);
}

bool LeadsToAttention(const Value* value) {
  return ProductSearch(/*fused_counts=*/true).Leads(value);
}

const Node* LinearMapBehind(const Value& probabilities) {
  const Value* value = &probabilities;
  for (int step = 0; step < 4 && value->consumers().size() == 1; ++step) {
    const Node* node = value->consumers()[0];
    if (ops::TraitsOf(*node).multiplies && !IsProductOfComputed(*node)) return node;
    if (!MovesElements(*node) || node->output(0) == nullptr) return nullptr;
    value = node->output(0);
  }
  return nullptr;
}

const Node* ReaderBehindViews(const Value& probabilities) {
  const Node* node = probabilities.consumers()[0];
  for (int step = 0; step < 4 && MovesElements(*node) && node->output(0) != nullptr; ++step) {
    const std::vector<Node*>& readers = node->output(0)->consumers();
    if (readers.empty() || IsProductOfComputed(*readers[0])) break;
    node = readers[0];
  }
  return node;
}

bool ComesFromSoftmax(const Value* value) {
  constexpr int kMaxBack = 6;
  for (int step = 0; step < kMaxBack; ++step) {
    const Node* node = value->producer();
    if (node == nullptr || IsOp(node, "Softmax")) return node != nullptr;
    double factor = 1;
    const bool same = MovesElements(*node) || IsOp(node, "Cast");
    value = same ? node->input(0) : ScaledOperand(*node, factor);
    if (value == nullptr) return false;
  }
  return false;
}

bool ComesFromProduct(const Value* value) {
  constexpr int kMaxBack = 8;
  for (int step = 0; step < kMaxBack; ++step) {
    const Node* node = value == nullptr ? nullptr : value->producer();
    if (node == nullptr || !node->domain().empty()) return false;
    if (IsProductOfComputed(*node)) return true;
    const bool chooses = node->op_type() == "Where";
    if (!chooses && !IsPassedThrough(*node)) return false;
    value = node->input(chooses ? 1 : 0);
  }
  return false;
}

bool IsMadeOfProduct(const Value* value) {
  HashSet<const Value*> visited;
  return MadeOfProduct(value, visited);
}

}  // namespace attnrun::opt
