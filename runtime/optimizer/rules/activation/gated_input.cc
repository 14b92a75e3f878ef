// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/activation/gated_input.h"

#include <cmath>

#include "absl/algorithm/container.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"

namespace attnrun::opt {
namespace {

// Exporters write fewer factors.
constexpr int kMaxFactors = 6;
// A value with more readers is no part of an activation.
constexpr size_t kMaxReaders = 8;

// Walks from the output of f to the products in which it takes part.
class GateWalk {
 public:
  GateWalk(Node* function, double coefficient, Facts& facts, std::vector<GatedInput>& found)
      : function_(function), coefficient_(coefficient), facts_(facts), found_(found) {}

  // `value` is a multiple of f to which `offset` must still be added; 0 if it was added.
  void Follow(Value* value, GatedInput state, double offset, int steps) {
    if (steps == 0 || value->consumers().size() > kMaxReaders) return;
    for (Node* reader : value->consumers()) {
      if (reader->output(0) == nullptr) continue;
      GatedInput next = state;
      next.nodes.push_back(reader);
      next.y = reader->output(0);
      double factor = 1;
      if (ScaledOperand(*reader, factor) == value) {
        next.coefficient *= factor;
        Follow(next.y, next, offset * factor, steps - 1);
      } else if (offset != 0 && IsOp(reader, "Add")) {
        if (ScalarOf(OtherOperand(*reader, value)) == offset) Follow(next.y, next, 0, steps - 1);
      } else if (offset == 0 && IsOp(reader, "Mul")) {
        TryInputs(OtherOperand(*reader, value), next, steps);
      }
    }
  }

 private:
  // Tries the other factor as x or a multiple of x.
  void TryInputs(Value* multiple, GatedInput state, int steps) {
    for (int i = 0; i < kMaxFactors && multiple != nullptr; ++i) {
      TryInput(multiple, state, steps);
      Node* producer = multiple->producer();
      double factor = 1;
      multiple = producer == nullptr ? nullptr : ScaledOperand(*producer, factor);
      state.coefficient *= factor;
      state.operands.push_back(producer);
    }
  }

  void TryInput(Value* x, GatedInput state, int steps) {
    const auto polynomial = AsPolynomial(function_->input(0), x, state.operands);
    if (!polynomial.has_value()) return;
    state.x = x;
    state.polynomial = *polynomial;
    TakeFactors(state, steps);
    // A constant with more axes than x would add axes to the result.
    const int rank = facts_.RankOf(x);
    if (rank >= 0 && rank == facts_.RankOf(state.y)) found_.push_back(std::move(state));
  }

  // Takes numbers by which the product is multiplied.
  void TakeFactors(GatedInput& state, int steps) const {
    while (steps-- > 0 && std::abs(state.coefficient / coefficient_ - 1) > 0.1) {
      const auto& readers = state.y->consumers();
      double factor = 1;
      const auto scales = [&](Node* reader) {
        return reader->output(0) != nullptr && ScaledOperand(*reader, factor) == state.y;
      };
      const auto reader = absl::c_find_if(readers, scales);
      if (reader == readers.end()) return;
      state.coefficient *= factor;
      state.nodes.push_back(*reader);
      state.y = (*reader)->output(0);
    }
  }

  Node* const function_;
  const double coefficient_;
  Facts& facts_;
  std::vector<GatedInput>& found_;
};

// Supersedes, too, the operands that only superseded nodes read.
void SupersedeUnshared(const Graph& graph, Patch& patch, const std::vector<Node*>& operands) {
  for (Node* node : operands) {
    if (node == nullptr || absl::c_linear_search(patch.superseded(), node)) continue;
    const Value* output = node->output(0);
    const bool unshared =
        !graph.IsOutput(output) && absl::c_all_of(output->consumers(), [&](const Node* reader) {
          return absl::c_linear_search(patch.superseded(), reader);
        });
    if (unshared) patch.Supersede({node});
  }
}

}  // namespace

std::vector<GatedInput> FindGatedInputs(Node* function, double offset, double coefficient,
                                        Facts& facts) {
  std::vector<GatedInput> found;
  GatedInput state;
  state.nodes = {function};
  GateWalk(function, coefficient, facts, found)
      .Follow(function->output(0), state, offset, kMaxFactors);
  return found;
}

bool ReplaceGatedInput(RuleContext& context, Patch& patch, const Node& function,
                       const GatedInput& gated, const char* op_type, AttributeMap attributes) {
  patch.Supersede(gated.nodes);
  if (!patch.Admits({gated.y}, &function)) return false;
  SupersedeUnshared(context.graph, patch, gated.operands);
  patch.Replace(gated.y, patch.Op(op_type, {gated.x}, std::move(attributes), function.name()));
  return true;
}

}  // namespace attnrun::opt
