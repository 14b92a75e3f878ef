// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/activation/polynomial.h"

#include <cmath>

namespace attnrun::opt {
namespace {

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

}  // namespace

std::optional<Cubic> AsPolynomial(Value* value, const Value* x, std::vector<Node*>& nodes) {
  return PolynomialReader(x, nodes).Read(value);
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
