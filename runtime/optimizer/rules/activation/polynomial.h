// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ACTIVATION_POLYNOMIAL_H_
#define ATTNRUN_OPTIMIZER_RULES_ACTIVATION_POLYNOMIAL_H_

#include <array>
#include <optional>
#include <vector>

#include "optimizer/analysis/facts.h"

namespace attnrun::opt {

// The sum of coefficient[i] * x^i.
using Cubic = std::array<double, 4>;

// `value` as a polynomial in `x` of degree at most 3, written with sums, differences, products,
// quotients by a number and powers in any way; nullopt if it is none. Appends the nodes from x to
// the value.
std::optional<Cubic> AsPolynomial(Value* value, const Value* x, std::vector<Node*>& nodes);

// True if the coefficients agree up to the rounding of constants in elements of `type`.
bool IsClose(const Cubic& actual, const Cubic& expected, DataType type);
bool IsClose(double actual, double expected, DataType type);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ACTIVATION_POLYNOMIAL_H_
