// SPDX-License-Identifier: Apache-2.0
// Division of symbolic integers.
#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>

#include "graph/symbolic.h"

namespace attnrun {
namespace {

// An integer written as multiple * b + rest, for a number b.
struct Division {
  SymInt multiple;
  SymInt rest;
};

// Each coefficient keeps its sign in the rest, except for the number, which leaves at least 0.
Division DivideTerms(const SymInt& a, int64_t b) {
  Division result;
  for (const SymInt& term : a.Terms()) {
    const int64_t coefficient = term.coefficient();
    int64_t whole = coefficient / b;
    if (term.constant().has_value() && coefficient % b < 0) --whole;
    const SymInt single = SymInt::DivideExactly(term, coefficient).value_or(term);
    result.multiple = result.multiple + single * whole;
    result.rest = result.rest + single * (coefficient - whole * b);
  }
  return result;
}

// Writes x/4 - x/8, a quotient less its half, as the half that is rounded up, (x + 4)/8.
SymInt WithoutHalves(const SymInt& a) {
  SymInt result = a;
  for (const SymInt& term : a.Terms()) {
    const int64_t coefficient = term.coefficient();
    const SymInt quotient = SymInt::DivideExactly(term, coefficient).value_or(term);
    const auto operands = quotient.OperandsOf("div");
    if (!operands.has_value() || !quotient.IsNeverNegative()) continue;
    const int64_t by = operands->second.constant().value_or(0);
    if (by <= 0 || by > std::numeric_limits<int64_t>::max() / 2) continue;
    const SymInt& x = operands->first;
    const SymInt both = (quotient - SymInt::Opaque("div", x, by * 2)) * coefficient;
    // Two terms fewer than before: the half was there as often as the quotient.
    if ((result - both).Terms().size() + 2 != result.Terms().size()) continue;
    result = result - both + SymInt::Opaque("div", x + by, by * 2) * coefficient;
  }
  return result;
}

// True if there are symbols, all with coefficients below 0.
bool IsBelowItsNumber(const SymInt& a) {
  const std::vector<SymInt> terms = a.Terms();
  return !a.constant().has_value() && std::all_of(terms.begin(), terms.end(), [](const SymInt& t) {
    return t.constant().has_value() || t.coefficient() < 0;
  });
}

// For x/m + rest, the x + m * rest and m that give the same when divided. nullopt if there is no
// such quotient, or several.
std::optional<std::pair<SymInt, int64_t>> Unnested(const SymInt& a) {
  std::optional<std::pair<SymInt, int64_t>> found;
  for (const SymInt& term : a.Terms()) {
    auto quotient = term.OperandsOf("div");
    if (!quotient.has_value()) quotient = term.OperandsOf("floordiv");
    // A quotient that may be negative is not rounded down.
    if (!quotient.has_value() || !quotient->first.IsNeverNegative()) continue;
    const int64_t by = quotient->second.constant().value_or(0);
    if (by <= 0) continue;
    if (found.has_value()) return std::nullopt;
    found.emplace(quotient->first + (a - term) * by, by);
  }
  return found;
}

}  // namespace

std::optional<SymInt> SymInt::DivideExactly(const SymInt& a, const SymInt& b) {
  if (b.terms_.empty()) return std::nullopt;
  // The term of the highest degree, the first by name among several.
  const auto leading = [](const SymInt& of) {
    return *std::max_element(of.terms_.begin(), of.terms_.end(), [](const auto& x, const auto& y) {
      if (x.first.size() != y.first.size()) return x.first.size() < y.first.size();
      return x.first > y.first;
    });
  };
  // Long division: each step removes the leading term. Multiplication preserves this order of
  // terms, so the leading terms shrink and the loop ends.
  const auto [divisor, divisor_coefficient] = leading(b);
  SymInt quotient;
  SymInt rest = a;
  while (!rest.terms_.empty()) {
    const auto [monomial, coefficient] = leading(rest);
    if (coefficient % divisor_coefficient != 0 ||
        !std::includes(monomial.begin(), monomial.end(), divisor.begin(), divisor.end())) {
      return std::nullopt;
    }
    SymInt term;
    Monomial factor;
    std::set_difference(monomial.begin(), monomial.end(), divisor.begin(), divisor.end(),
                        std::back_inserter(factor));
    term.terms_[factor] = coefficient / divisor_coefficient;
    quotient = quotient + term;
    const SymInt next = rest - term * b;
    // After an overflow the sum is one new symbol, and the loop would never end.
    if (next.terms_.size() > rest.terms_.size() + b.terms_.size()) return std::nullopt;
    if (next.terms_.contains(monomial)) return std::nullopt;
    rest = next;
  }
  return quotient;
}

SymInt SymInt::CommonFactor(const SymInt& a, const SymInt& b) {
  const SymInt all = a.terms_.empty() ? b : a;
  Monomial symbols = all.terms_.begin()->first;
  int64_t number = 0;
  for (const auto* terms : {&a.terms_, &b.terms_}) {
    for (const auto& [monomial, coefficient] : *terms) {
      Monomial common;
      std::set_intersection(symbols.begin(), symbols.end(), monomial.begin(), monomial.end(),
                            std::back_inserter(common));
      symbols = std::move(common);
      // The lowest number has no absolute value.
      if (coefficient == std::numeric_limits<int64_t>::min()) return 1;
      number = std::gcd(number, coefficient);
    }
  }
  SymInt factor;
  factor.terms_[symbols] = number;
  return factor;
}

SymInt SymInt::Quotient(const SymInt& a, const SymInt& b) {
  const std::optional<int64_t> x = a.constant();
  const std::optional<int64_t> y = b.constant();
  if (y == 0 || (y == -1 && x == std::numeric_limits<int64_t>::min())) return Unknown();
  if (x.has_value() && y.has_value()) return *x / *y;
  const std::optional<SymInt> exact = DivideExactly(a, b);
  if (exact.has_value()) return *exact;
  const int64_t by = y.value_or(0);
  if (by > 0 && a.IsNeverNegative()) return FloorQuotient(a, by);
  const SymInt common = CommonFactor(a, b);
  if (common != 1)
    return Quotient(DivideExactly(a, common).value_or(a), DivideExactly(b, common).value_or(b));
  const auto inner = a.OperandsOf("div");
  if (!inner.has_value() || by <= 0) return Opaque("div", a, b);
  int64_t divisor = inner->second.constant().value_or(0);
  if (divisor <= 0 || __builtin_mul_overflow(divisor, by, &divisor)) return Opaque("div", a, b);
  return Opaque("div", inner->first, divisor);
}

SymInt SymInt::FloorQuotient(const SymInt& a, int64_t b) {
  const auto [multiple, rest] = DivideTerms(WithoutHalves(a), b);
  const int64_t number = rest.constant_term();
  if (rest == number) return multiple;
  if (IsBelowItsNumber(rest)) return multiple - FloorQuotient(SymInt(b - 1) - rest, b);
  // The factor that the symbols share with b cancels; the number is rounded down.
  const int64_t common = CommonFactor(rest - number, b).coefficient();
  if (common > 1) {
    const SymInt symbols = DivideExactly(rest - number, common).value_or(rest - number);
    return multiple + FloorQuotient(symbols + number / common, b / common);
  }
  const auto unnested = Unnested(rest);
  int64_t divisor = 0;
  if (unnested.has_value() && !__builtin_mul_overflow(unnested->second, b, &divisor)) {
    return multiple + FloorQuotient(unnested->first, divisor);
  }
  return multiple + Opaque(rest.IsNeverNegative() ? "div" : "floordiv", rest, b);
}

}  // namespace attnrun
