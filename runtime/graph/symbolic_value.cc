// SPDX-License-Identifier: Apache-2.0
// Symbolic integers at the extents of a run.
#include <algorithm>
#include <limits>

#include "absl/algorithm/container.h"
#include "graph/symbolic_definition.h"

namespace attnrun {
namespace {

using Number = std::optional<int64_t>;

bool IsRoundedQuotient(absl::string_view function) {
  return function == "div" || function == "floordiv";
}

bool HasValue(absl::string_view function) {
  return IsRoundedQuotient(function) || function == "min" || function == "max" ||
         function == "broadcast" || function == "drop";
}

// The value of a function that HasValue.
Number Apply(absl::string_view function, int64_t a, int64_t b) {
  if (function == "min") return std::min(a, b);
  if (function == "max") return std::max(a, b);
  if (function == "drop") {
    int64_t rest = 0;
    return __builtin_sub_overflow(a, b, &rest) ? std::nullopt : Number(std::max<int64_t>(rest, 0));
  }
  if (function == "broadcast") {
    if (a == 1 || a == b) return b;
    return b == 1 ? Number(a) : std::nullopt;
  }
  if (b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min())) return std::nullopt;
  const bool lower = function == "floordiv" && a % b != 0 && (a < 0) != (b < 0);
  return a / b - (lower ? 1 : 0);
}

}  // namespace

bool SymInt::IsComputable() const {
  return absl::c_all_of(terms_, [](const auto& term) {
    return absl::c_all_of(term.first, [](const Factor& factor) {
      if (factor->function.empty()) return !factor->unknown;
      return HasValue(factor->function) && factor->a.IsComputable() && factor->b.IsComputable();
    });
  });
}

std::optional<int64_t> SymInt::ValueAt(Extents extent) const {
  int64_t sum = 0;
  for (const auto& [monomial, coefficient] : terms_) {
    int64_t product = coefficient;
    for (const Factor& factor : monomial) {
      const Number value = ValueOf(*factor, extent);
      if (!value.has_value() || __builtin_mul_overflow(product, *value, &product)) {
        return std::nullopt;
      }
    }
    if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
  }
  return sum;
}

std::optional<int64_t> SymInt::ValueOf(const Definition& symbol, Extents extent) {
  if (symbol.function.empty()) return symbol.unknown ? std::nullopt : extent(symbol.text);
  const Number a = symbol.a.ValueAt(extent);
  const Number b = symbol.b.ValueAt(extent);
  if (!HasValue(symbol.function) || !a.has_value() || !b.has_value()) return std::nullopt;
  return Apply(symbol.function, *a, *b);
}

SymInt SymInt::LongestTerm() const {
  const auto length = [](const Monomial& monomial) {
    size_t sum = 0;
    for (const Factor& factor : monomial) {
      sum += factor->function.empty() ? 1 : 1 + factor->text.size();
    }
    return std::pair(sum, monomial.size());
  };
  SymInt result;
  result.terms_.insert(*absl::c_max_element(terms_, [&](const auto& x, const auto& y) {
    const auto length_x = length(x.first);
    const auto length_y = length(y.first);
    return length_x != length_y ? length_x < length_y : x.first < y.first;
  }));
  return result;
}

}  // namespace attnrun
