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

// Exporters write a cubic with fewer nodes. The limit counts visits: a product that shares operands
// is walked once for each path.
constexpr int kMaxVisits = 64;

std::optional<Cubic> Product(const Cubic& a, const Cubic& b) {
  Cubic product{};
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < b.size(); ++j) {
      const double term = a[i] * b[j];
      if (term == 0) continue;
      if (i + j >= product.size()) return std::nullopt;
      product[i + j] += term;
    }
  }
  return product;
}

Cubic Sum(const Cubic& a, const Cubic& b, double sign) {
  Cubic sum{};
  for (size_t i = 0; i < a.size(); ++i) sum[i] = a[i] + sign * b[i];
  return sum;
}

// Reads a value as a polynomial in x of degree at most 3, written with sums, differences, products,
// quotients by a number and powers in any way. Appends the nodes from x to the value.
class PolynomialReader {
 public:
  PolynomialReader(const Value* x, std::vector<Node*>& nodes) : x_(x), nodes_(nodes) {}

  std::optional<Cubic> Read(Value* value) {
    if (value == x_) return Cubic{0, 1};
    if (const auto number = ScalarOf(value)) return Cubic{*number};
    Node* node = value == nullptr ? nullptr : value->producer();
    if (node == nullptr || !node->domain().empty() || ++visits_ > kMaxVisits) return std::nullopt;
    nodes_.push_back(node);
    const std::string& op = node->op_type();
    if (op == "Add") return Combine(*node, 1);
    if (op == "Sub") return Combine(*node, -1);
    if (op == "Mul") return Multiply(*node);
    if (op == "Div") return Divide(*node);
    if (op == "Pow") return Power(*node);
    if (op == "Neg") return Scaled(Read(node->input(0)), -1);
    return std::nullopt;
  }

 private:
  using Result = std::optional<Cubic>;

  static Result Scaled(const Result& polynomial, double factor) {
    return polynomial.has_value() ? Product(*polynomial, {factor}) : std::nullopt;
  }
  Result Combine(const Node& node, double sign) {
    const Result a = Read(node.input(0));
    const Result b = a.has_value() ? Read(node.input(1)) : std::nullopt;
    return b.has_value() ? Result(Sum(*a, *b, sign)) : std::nullopt;
  }
  Result Multiply(const Node& node) {
    const Result a = Read(node.input(0));
    const Result b = a.has_value() ? Read(node.input(1)) : std::nullopt;
    return b.has_value() ? Product(*a, *b) : std::nullopt;
  }
  Result Divide(const Node& node) {
    const auto divisor = ScalarOf(node.input(1));
    if (!divisor.has_value() || *divisor == 0) return std::nullopt;
    return Scaled(Read(node.input(0)), 1 / *divisor);
  }
  Result Power(const Node& node) {
    const auto exponent = ScalarOf(node.input(1));
    if (exponent != 2.0 && exponent != 3.0) return std::nullopt;
    const Result base = Read(node.input(0));
    Result power = base;
    for (int i = 1; i < *exponent && power.has_value(); ++i) power = Product(*power, *base);
    return power;
  }

  const Value* const x_;
  std::vector<Node*>& nodes_;
  int visits_ = 0;
};

// The relative error that rounding a few constants to the type may cause in their product.
double RoundingOf(DataType type) {
  if (type == DataType::kFloat16) return 2e-3;
  if (type == DataType::kBfloat16) return 1.6e-2;
  return 1e-6;
}

// Walks from the output of f to the products in which it takes part.
class GateWalk {
 public:
  GateWalk(Node* function, double coefficient, Facts& facts, std::vector<GatedInput>& found)
      : function_(function), coefficient_(coefficient), facts_(facts), found_(found) {}

  // `value` is a multiple of f to which `offset` must still be added; 0 if it was added.
  void Follow(Value* value, const GatedInput& state, double offset, int steps) {
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
      } else if (const Readings sums = SumsOf(reader); offset != 0 && !sums.empty()) {
        // 1 - f(-p), as erfc is written out, is 1 + f(p).
        next.is_reversed = IsDivOrSub(reader);
        const auto adds = [&](const Operands& sum) {
          return sum.second == value && ScalarOf(sum.first) == offset;
        };
        if (absl::c_any_of(sums, adds)) Follow(next.y, next, 0, steps - 1);
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
    const auto polynomial = PolynomialReader(x, state.operands).Read(function_->input(0));
    if (!polynomial.has_value()) return;
    state.x = x;
    state.polynomial = state.is_reversed ? Sum({}, *polynomial, -1) : *polynomial;
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
  SupersedeUnshared(context.graph, patch, gated.operands);
  return patch.Replace(gated.y,
                       patch.Op(op_type, {gated.x}, std::move(attributes), function.name()));
}

bool IsClose(double actual, double expected, DataType type) {
  return std::abs(actual - expected) <= RoundingOf(type) * std::abs(expected);
}

bool IsClose(const Cubic& actual, const Cubic& expected, DataType type) {
  for (size_t i = 0; i < actual.size(); ++i) {
    if (!IsClose(actual[i], expected[i], type)) return false;
  }
  return true;
}

}  // namespace attnrun::opt
