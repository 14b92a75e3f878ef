#include "optimizer/fusions/attention/transposed_products.h"

#include <array>
#include <numeric>
#include <utility>

#include "absl/algorithm/container.h"
#include "optimizer/fusions/each_node.h"

namespace attnrun {
namespace {

bool Is(const Node* node, absl::string_view op_type) {
  return node != nullptr && node->domain().empty() && node->op_type() == op_type;
}

// The permutation that exchanges the last two of `rank` axes.
std::vector<int64_t> Swap(int rank) {
  std::vector<int64_t> permutation(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[rank - 2], permutation[rank - 1]);
  return permutation;
}

// A Transpose that turns the matrices of a stack.
bool IsSwap(const Node* node) {
  if (!Is(node, "Transpose") || node->attribute("perm") == nullptr) return false;
  const auto& permutation = std::get<std::vector<int64_t>>(*node->attribute("perm"));
  return permutation.size() >= 2 && permutation == Swap(static_cast<int>(permutation.size()));
}

bool IsOnlyReadBy(const Value* value, const Node* node, const PassContext& context) {
  return value->consumers().size() == 1 && value->consumers()[0] == node &&
         !context.graph.IsOutput(value);
}

// Over what may stand between scores and their Softmax.
bool LeadsToSoftmax(const Value* value, int steps) {
  static constexpr std::array<absl::string_view, 6> kPassed = {"Mul", "Div",   "Add",
                                                               "Sub", "Where", "Cast"};
  return absl::c_any_of(value->consumers(), [&](const Node* node) {
    if (Is(node, "Softmax")) return true;
    return steps > 0 && node->domain().empty() && absl::c_linear_search(kPassed, node->op_type()) &&
           LeadsToSoftmax(node->output(0), steps - 1);
  });
}

class Turn {
 public:
  Turn(PassContext& context, Patch& patch) : context_(context), patch_(patch) {}

  // Transpose(A B) -> B^T A^T.
  bool ProposeScores(Node* transpose) {
    constexpr int kMaxSteps = 6;
    Node* matmul = transpose->input(0)->producer();
    if (!IsSwap(transpose) || !Is(matmul, "MatMul") || !HasMatrices(*matmul)) return false;
    if (!IsOnlyReadBy(matmul->output(0), transpose, context_)) return false;
    if (!LeadsToSoftmax(transpose->output(0), kMaxSteps)) return false;
    patch_.Supersede({transpose, matmul});
    patch_.Replace(transpose->output(0), Turned(*matmul));
    return true;
  }

  // A P^T -> (P A^T)^T.
  bool ProposeValues(Node* matmul) {
    Node* transpose = matmul->input(1)->producer();
    if (!IsSwap(transpose) || !HasMatrices(*matmul)) return false;
    if (!Is(transpose->input(0)->producer(), "Softmax")) return false;
    const int rank = context_.facts.RankOf(matmul->output(0));
    patch_.Supersede({matmul});
    if (IsOnlyReadBy(transpose->output(0), matmul, context_)) patch_.Supersede({transpose});
    patch_.Replace(matmul->output(0),
                   patch_.Op("Transpose", {Turned(*matmul)}, {{"perm", Swap(rank)}}));
    return true;
  }

 private:
  bool HasMatrices(const Node& matmul) const {
    return absl::c_all_of(matmul.inputs(), [&](const Value* input) {
      return !input->is_constant() && context_.facts.RankOf(input) >= 2;
    });
  }

  Value* Turned(const Node& matmul) {
    return patch_.Op("MatMul", {Transposed(matmul.input(1)), Transposed(matmul.input(0))}, {},
                     matmul.name());
  }

  Value* Transposed(Value* value) {
    const Node* producer = value->producer();
    if (IsSwap(producer)) return producer->input(0);
    return patch_.Op("Transpose", {value}, {{"perm", Swap(context_.facts.RankOf(value))}});
  }

  PassContext& context_;
  Patch& patch_;
};

}  // namespace

absl::StatusOr<int> TurnTransposedProducts(PassContext& context) {
  return RewriteEachNode(context, [&](Node* node, Patch& patch) {
    if (Is(node, "Transpose")) return Turn(context, patch).ProposeScores(node);
    return Is(node, "MatMul") && Turn(context, patch).ProposeValues(node);
  });
}

}  // namespace attnrun
